"""The files of a data set in each layout, and a comparison of the data sets of several nodes."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

__all__ = ["FOLDERS", "KINDS", "LAYOUTS", "agreement", "lacking"]

# The numbers of files (images: of class folders) of a complete part. ImageNet: the 1024 and 128
# shards of TensorFlow's converter, the 256 parts of DLPerf's OneFlow, the 44 of the reference's.
_COUNTS: Mapping[str, Mapping[str, Mapping[str, Tuple[int, ...]]]] = {
    "imagenet": {
        "images": {"train": (1000,), "val": (1000,)},
        "tfrecord": {"train": (1024,), "validation": (128,)},
        "dali_idx": {"train": (1024,), "validation": (128,)},
        "recordio": {"train": (1,), "val": (1,)},
        "ofrecord": {"train": (256, 44), "val": (256, 44)},
        # Lists of the images, which PaddlePaddle's published trainer reads.
        "image_lists": {"train": (1,), "val": (1,)},
    },
    "small": {
        "images": {"train": (8,), "val": (8,)},
        "tfrecord": {"train": (8,), "validation": (2,)},
        "dali_idx": {"train": (8,), "validation": (2,)},
        "recordio": {"train": (1,), "val": (1,)},
        "ofrecord": {"train": (8,), "val": (2,)},
        "image_lists": {"train": (1,), "val": (1,)},
    },
}
# Layouts that lie in the folder of another one.
FOLDERS = {"image_lists": "images"}
# ILSVRC 2012.
_IMAGES = {"imagenet": {"train": 1281167, "val": 50000}}
KINDS = tuple(_COUNTS)
LAYOUTS = tuple(_COUNTS["imagenet"])
_NAMED = 3


def lacking(kind: str, layout: str, sizes: Mapping[str, int]) -> List[str]:
    """Return a sentence for each problem of a data set in one layout; none for a complete one.

    :param kind: one of ``KINDS``.
    :param layout: one of ``LAYOUTS``, which is also the name of its folder but for ``FOLDERS``.
    :param sizes: the size of every file in bytes, by its path below that folder.
    """
    problems: List[str] = []
    for part, counts in _COUNTS[kind][layout].items():
        if layout == "images":
            problems += _lacking_images(kind, part, counts[0], sizes)
            continue
        wanted = min(
            (_names(layout, part, count) for count in counts),
            key=lambda names: sum(name not in sizes for name in names),
        )
        missing = [name for name in wanted if name not in sizes]
        empty = [name for name in wanted if sizes.get(name) == 0]
        problems += _sentence(missing, len(wanted), "missing")
        problems += _sentence(empty, len(wanted), "empty")
    return problems


def _names(layout: str, part: str, count: int) -> List[str]:
    if layout == "recordio":
        return [f"{part}.rec", f"{part}.idx"]
    if layout == "image_lists":
        return [f"{part}_list.txt"]
    if layout == "ofrecord":
        return [f"{part}/part-{number:05d}" for number in range(count)]
    return [f"{part}-{number:05d}-of-{count:05d}" for number in range(count)]


def _lacking_images(kind: str, part: str, classes: int, sizes: Mapping[str, int]) -> List[str]:
    images_of: Dict[str, int] = {}
    for path in sizes:
        folders = path.split("/")
        if len(folders) == 3 and folders[0] == part:
            images_of[folders[1]] = images_of.get(folders[1], 0) + 1
    problems = []
    if len(images_of) != classes:
        problems.append(f"{part}: {len(images_of)} class folders with images, not {classes}")
    images, wanted = sum(images_of.values()), _IMAGES.get(kind, {}).get(part)
    if wanted is not None and images != wanted:
        problems.append(f"{part}: {images} images, not {wanted}")
    return problems + _sentence(
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


def agreement(
    nodes: Mapping[str, Mapping[str, Mapping[str, Any]]], wanted: List[str]
) -> Dict[str, Any]:
    """Return ``rows``, one per node and layout, and ``problems``; none where all nodes agree.

    :param nodes: by node the result of module dataset_info: by layout ``state`` (complete,
        incomplete, absent), ``problems``, ``files``, ``bytes``, ``digest``.
    :param wanted: layouts that every node must have.
    """
    rows: List[Dict[str, Any]] = []
    problems: List[str] = []
    for layout in LAYOUTS:
        states = {name: layouts[layout] for name, layouts in nodes.items() if layout in layouts}
        for name, state in states.items():
            rows.append(
                {
                    "node": name,
                    "form": layout,
                    "state": state["state"],
                    "files": state["files"],
                    "MiB": round(state["bytes"] / (1 << 20), 1),
                    "digest": state["digest"][:12],
                    "what": "; ".join(state["problems"]),
                }
            )
            problems += [f"{name}: {layout}: {problem}" for problem in state["problems"]]
            if state["state"] == "absent" and layout in wanted:
                problems.append(f"{name}: {layout}: there is no such folder")
        digests: Dict[str, List[str]] = {}
        for name, state in states.items():
            if state["state"] == "complete":
                digests.setdefault(state["digest"], []).append(name)
        if len(digests) > 1:
            sides = " and ".join(", ".join(names) for names in digests.values())
            problems.append(f"{layout}: the files of {sides} differ")
    return {"rows": rows, "problems": problems}
