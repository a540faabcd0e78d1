"""Record files (TFRecord, OFRecord, RecordIO) and their indexes: read, made and verified.

A file is walked from record to record by the stored lengths; the last record must end where the
file ends.
"""

from __future__ import annotations

import struct
from typing import Callable, Dict, Iterable, Iterator, Tuple

__all__ = [
    "WALKS",
    "dali_index",
    "dali_index_problem",
    "ofrecord_spans",
    "recordio_index_problem",
    "recordio_spans",
    "tfrecord_spans",
]

# (offset, length) -> the bytes there; fewer at the end of the file.
ReadAt = Callable[[int, int], bytes]
Spans = Iterator[Tuple[int, int]]
_MAGIC = 0xCED7230A
_LENGTH_BITS = 29


def tfrecord_spans(read_at: ReadAt, size: int) -> Spans:
    """Yield offset and size in bytes of every record, including its length and two checksums.

    :param size: of the file in bytes.
    :raises ValueError: a record reaches beyond the end; it is named by number and offset.
    """
    return _walk(read_at, size, "<Q", 8, lambda length: 12 + length + 4)


def ofrecord_spans(read_at: ReadAt, size: int) -> Spans:
    """Yield offset and size in bytes of every record, including its length.

    :param size: of the file in bytes.
    :raises ValueError: as :func:`tfrecord_spans`.
    """
    return _walk(read_at, size, "<q", 8, lambda length: 8 + length)


def recordio_spans(read_at: ReadAt, size: int) -> Spans:
    """Yield offset and size in bytes of every part of a record, including head and padding.

    :param size: of the file in bytes.
    :raises ValueError: as :func:`tfrecord_spans`, or a head lacks the magic number.
    """

    def whole(head: int) -> int:
        if head & 0xFFFFFFFF != _MAGIC:
            raise ValueError("begins without the magic number of RecordIO")
        length = head >> 32 & (1 << _LENGTH_BITS) - 1
        return 8 + length + -length % 4

    return _walk(read_at, size, "<Q", 8, whole)


def _walk(
    read_at: ReadAt, size: int, form: str, head_size: int, whole: Callable[[int], int]
) -> Spans:
    offset = number = 0
    while offset < size:
        where = f"record {number} at byte {offset}"
        head = read_at(offset, head_size)
        if len(head) < head_size:
            raise ValueError(f"{where} has a truncated length: the file has {size} bytes")
        try:
            length = whole(struct.unpack(form, head)[0])
        except ValueError as error:
            raise ValueError(f"{where} {error}") from None
        if length <= head_size or offset + length > size:
            raise ValueError(f"{where} claims {length} bytes: the file has {size}")
        yield offset, length
        offset, number = offset + length, number + 1


# By layout; the layout images has no record files.
WALKS: Dict[str, Callable[[ReadAt, int], Spans]] = {
    "tfrecord": tfrecord_spans,
    "ofrecord": ofrecord_spans,
    "recordio": recordio_spans,
}


def dali_index(spans: Iterable[Tuple[int, int]]) -> str:
    """Return DALI's index of a TFRecord shard, in the format of its tool tfrecord2idx.

    Each line holds ``offset size`` of a record, in bytes.

    :param spans: of :func:`tfrecord_spans`.
    """
    return "".join(f"{offset} {size}\n" for offset, size in spans)


def dali_index_problem(text: str, size: int) -> str:
    """Return why a DALI index does not match its shard; empty if it does.

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
    """Return why an index cannot belong to its .rec file; empty if it can.

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
