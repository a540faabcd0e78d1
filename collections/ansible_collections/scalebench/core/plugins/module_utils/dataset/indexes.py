"""Index files beside record files: made, and held against the size of what they index."""

from __future__ import annotations

from typing import Iterable, Tuple

__all__ = ["dali_index", "dali_index_problem", "recordio_index_problem"]


def dali_index(spans: Iterable[Tuple[int, int]]) -> str:
    """Return DALI's index of a TFRecord shard: ``offset size`` a line, in bytes.

    The form is that of DALI's tool tfrecord2idx.

    :param spans: of ``spans.tfrecord_spans``.
    """
    return "".join(f"{offset} {size}\n" for offset, size in spans)


def dali_index_problem(text: str, size: int) -> str:
    """Return why a DALI index does not fit its shard; empty where it does.

    :param size: of the shard in bytes.
    """
    end = 0
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if len(words) != 2 or not all(word.isdigit() for word in words):
            return f"line {number} of its index is not 'offset size'"
        if int(words[0]) != end:
            return f"line {number} of its index begins at byte {words[0]}, not {end}"
        end += int(words[1])
    return "" if end == size else f"its index ends at byte {end}, the shard at {size}"


def recordio_index_problem(text: str, size: int) -> str:
    """Return why the index of a .rec file cannot be its; empty where it may be.

    :param size: of the .rec file in bytes.
    """
    last = -1
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if len(words) != 2 or not all(word.isdigit() for word in words):
            return f"line {number} of its index is not 'number<tab>offset'"
        if int(words[1]) <= last:
            return f"line {number} of its index goes back to byte {words[1]}"
        last = int(words[1])
    if last < 0:
        return "its index is empty"
    return "" if last < size else f"its index goes to byte {last}, the file has {size}"
