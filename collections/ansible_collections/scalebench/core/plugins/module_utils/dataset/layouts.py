"""What belongs to a data set in each form: names and numbers of its files."""

from __future__ import annotations

from typing import Dict, List, Mapping, Sequence, Tuple

__all__ = ["KINDS", "LAYOUTS", "lacking"]

# The numbers of files (of images: class folders) that make a part complete. ImageNet: the 1024 and
# 128 shards of TensorFlow's converter, the 256 parts of DLPerf's OneFlow, the 44 of the seed's.
_COUNTS: Mapping[str, Mapping[str, Mapping[str, Tuple[int, ...]]]] = {
    "imagenet": {
        "images": {"train": (1000,), "val": (1000,)},
        "tfrecord": {"train": (1024,), "validation": (128,)},
        "dali_idx": {"train": (1024,), "validation": (128,)},
        "recordio": {"train": (1,), "val": (1,)},
        "ofrecord": {"train": (256, 44), "val": (256, 44)},
    },
    "small": {
        "images": {"train": (8,), "val": (8,)},
        "tfrecord": {"train": (8,), "validation": (2,)},
        "dali_idx": {"train": (8,), "validation": (2,)},
        "recordio": {"train": (1,), "val": (1,)},
        "ofrecord": {"train": (8,), "val": (2,)},
    },
}
# ILSVRC 2012.
_IMAGES = {"imagenet": {"train": 1281167, "val": 50000}}
KINDS = tuple(_COUNTS)
LAYOUTS = tuple(_COUNTS["imagenet"])
_NAMED = 3


def lacking(kind: str, layout: str, sizes: Mapping[str, int]) -> List[str]:
    """Return in words what a data set lacks in one form; nothing for a complete one.

    :param kind: one of ``KINDS``.
    :param layout: one of ``LAYOUTS``; also the name of its folder.
    :param sizes: by path below that folder, the size of every file in bytes.
    """
    said: List[str] = []
    for part, counts in _COUNTS[kind][layout].items():
        if layout == "images":
            said += _lacking_images(kind, part, counts[0], sizes)
            continue
        wanted = min(
            (_names(layout, part, count) for count in counts),
            key=lambda names: sum(name not in sizes for name in names),
        )
        missing = [name for name in wanted if name not in sizes]
        empty = [name for name in wanted if sizes.get(name) == 0]
        said += _sentence(missing, len(wanted), "missing") + _sentence(empty, len(wanted), "empty")
    return said


def _names(layout: str, part: str, count: int) -> List[str]:
    if layout == "recordio":
        return [f"{part}.rec", f"{part}.idx"]
    if layout == "ofrecord":
        return [f"{part}/part-{number:05d}" for number in range(count)]
    return [f"{part}-{number:05d}-of-{count:05d}" for number in range(count)]


def _lacking_images(kind: str, part: str, classes: int, sizes: Mapping[str, int]) -> List[str]:
    found: Dict[str, int] = {}
    for path in sizes:
        folders = path.split("/")
        if len(folders) == 3 and folders[0] == part:
            found[folders[1]] = found.get(folders[1], 0) + 1
    said = []
    if len(found) != classes:
        said.append(f"{part}: {len(found)} class folders with images, not {classes}")
    images, wanted = sum(found.values()), _IMAGES.get(kind, {}).get(part)
    if wanted is not None and images != wanted:
        said.append(f"{part}: {images} images, not {wanted}")
    return said + _sentence(
        sorted(path for path, size in sizes.items() if path.startswith(f"{part}/") and not size),
        images,
        "empty",
    )


def _sentence(names: Sequence[str], count: int, what: str) -> List[str]:
    if not names:
        return []
    listed = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    verb = "is" if len(names) == 1 else "are"
    return [f"{len(names)} of {count} files {verb} {what}: {listed}"]
