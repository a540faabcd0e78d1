"""The data set on this node: its state in one layout, a digest of it, and DALI's indexes."""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import Any, Dict, List, Mapping, Tuple, TypedDict

from ..dataset.layouts import FOLDERS, lacking
from ..dataset.records import (
    WALKS,
    dali_index,
    dali_index_problem,
    recordio_index_problem,
    tfrecord_spans,
)
from .durable import create

__all__ = ["images_folder", "index_folder", "look", "missing_indexes", "write_index"]

# Bytes read at both ends of a file for the digest: its head, and where a copy was cut off.
_SAMPLE = 4096
_MOST_PROBLEMS = 10
# Characters of an index; one of a million records has 20 million.
_LONGEST = 1 << 28


class LayoutState(TypedDict):
    """The state of a data set in one layout."""

    state: str  # complete, incomplete or absent
    problems: List[str]
    files: int
    bytes: int
    digest: str  # SHA-256 of all names and sizes, and of both ends of a sample of files


def images_folder(data_dir: str) -> str:
    """Return the folder with ``train/`` and ``val/``: ``images/``, or the data set's own."""
    folder = os.path.join(data_dir, "images")
    train = os.path.join(data_dir, "train")
    direct = not os.path.isdir(folder) and os.path.isdir(train)
    with contextlib.suppress(OSError):
        # Files alone may be those of another layout.
        if direct and any(entry.is_dir() for entry in os.scandir(train)):
            return data_dir
    return folder


def index_folder(data_dir: str, own: str = "", shared: bool = False) -> str:
    """Return where the DALI indexes of a data set are, or belong.

    :param own: a folder for those that cannot be in the data set: it is read-only, or ``shared``,
        where the nodes would write the same files. Empty if there is none.
    """
    beside = os.path.join(data_dir, "dali_idx")
    if not own or not missing_indexes(data_dir, beside):
        return beside
    writable = os.access(beside if os.path.isdir(beside) else data_dir, os.W_OK)
    return own if shared or not writable or os.path.isdir(own) else beside


def look(
    data_dir: str, kind: str, layout: str, every_record: bool, index_dir: str = ""
) -> LayoutState:
    """Return the state of a data set in one layout.

    :param kind: imagenet or small.
    :param layout: one of ``layouts.LAYOUTS``.
    :param every_record: whether to walk through the record files, record by record.
    :param index_dir: the folder of DALI's indexes, if it is not ``dali_idx/``.
    """
    folder = os.path.join(data_dir, layout)
    if "images" in (layout, FOLDERS.get(layout)):
        folder = images_folder(data_dir)
    elif layout == "dali_idx" and index_dir:
        folder = index_dir
    sizes = _sizes(folder, lists=layout in FOLDERS)
    if layout == "images" and folder == data_dir:
        # Other layouts lie beside them.
        parts = ("train/", "val/")
        sizes = {name: size for name, size in sizes.items() if name.startswith(parts)}
    problems: List[str] = []
    if sizes:
        problems = lacking(kind, layout, sizes)
        problems += _broken(data_dir, folder, layout, sizes, every_record)[:_MOST_PROBLEMS]
    state = "incomplete" if problems else "complete"
    return {
        "state": state if sizes else "absent",
        "problems": problems,
        "files": len(sizes),
        "bytes": sum(sizes.values()),
        "digest": _digest(folder, sizes) if sizes else "",
    }


def missing_indexes(data_dir: str, index_dir: str) -> List[Tuple[str, str]]:
    """Return the paths of shard and index for each shard whose index is missing or wrong."""
    missing = []
    folder = os.path.join(data_dir, "tfrecord")
    for name, size in sorted(_sizes(folder).items()):
        index = os.path.join(index_dir, name)
        if not os.path.isfile(index) or dali_index_problem(_text(index), size):
            missing.append((os.path.join(folder, name), index))
    return missing


def write_index(shard: str, index: str) -> None:
    """Write DALI's index of a shard, atomically.

    :raises ValueError: the shard is damaged; the message names it.
    """
    with open(shard, "rb") as file:
        try:
            text = dali_index(tfrecord_spans(_reader(file), os.path.getsize(shard)))
        except ValueError as error:
            raise ValueError(f"{shard}: {error}") from None
    os.makedirs(os.path.dirname(index), exist_ok=True)
    part = f"{index}.making"
    # Never through a link: others may write in the folder.
    with open(create(part), "w", encoding="ascii") as made:
        made.write(text)
    # Without waiting for the disk: it is made again where it does not fit its shard.
    os.replace(part, index)


def _sizes(folder: str, lists: bool = False) -> Dict[str, int]:
    """Return the size in bytes of every file below a folder, by its relative path.

    What is no file that can be read whole, as a pipe or a link to nothing, is not there.

    :param lists: only of the lists of images, which lie in the folder itself.
    """
    sizes = {}
    for place, folders, names in os.walk(folder):
        if lists:
            folders.clear()
        for name in names:
            path = os.path.join(place, name)
            wanted = name.endswith("_list.txt") == lists and not name.endswith(".making")
            if wanted and os.path.isfile(path):
                sizes[os.path.relpath(path, folder)] = os.path.getsize(path)
    return sizes


def _broken(
    data_dir: str, folder: str, layout: str, sizes: Mapping[str, int], every_record: bool
) -> List[str]:
    """Return a sentence for each file whose records or index are inconsistent."""
    problems = []
    for name, size in sorted(sizes.items()):
        path, problem = os.path.join(folder, name), ""
        if layout == "dali_idx":
            shard = os.path.join(data_dir, "tfrecord", name)
            if os.path.isfile(shard):
                problem = dali_index_problem(_text(path), os.path.getsize(shard))
        elif name.endswith(".idx"):
            records = f"{name[:-4]}.rec"
            if records in sizes:
                problem = recordio_index_problem(_text(path), sizes[records])
        elif every_record and layout in WALKS and size:
            problem = _walked(path, layout, size)
        problems += [f"{name}: {problem}"] if problem else []
    return problems


def _walked(path: str, layout: str, size: int) -> str:
    with open(path, "rb") as file:
        try:
            for _ in WALKS[layout](_reader(file), size):
                pass
        except ValueError as error:
            return str(error)
    return ""


def _reader(file: Any) -> Any:
    def read_at(offset: int, length: int) -> bytes:
        file.seek(offset)
        return bytes(file.read(length))

    return read_at


def _digest(folder: str, sizes: Mapping[str, int]) -> str:
    """Return the hash of all names and sizes, and of both ends of 2,000 to 4,000 files at most."""
    total = hashlib.sha256()
    step = max(1, len(sizes) // 2000)
    for number, (name, size) in enumerate(sorted(sizes.items())):
        total.update(f"{name}\0{size}\0".encode())
        if number % step == 0:
            with open(os.path.join(folder, name), "rb") as file:
                total.update(file.read(_SAMPLE))
                file.seek(max(0, size - _SAMPLE))
                total.update(file.read(_SAMPLE))
    return total.hexdigest()


def _text(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read(_LONGEST)
