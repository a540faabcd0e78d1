"""Where the records of a file lie: a walk from length to length that must end at the file's end."""

from __future__ import annotations

import struct
from typing import Callable, Dict, Iterator, Tuple

__all__ = ["WALKS", "ofrecord_spans", "recordio_spans", "tfrecord_spans"]

# Returns so many bytes from an offset on, fewer at the end.
ReadAt = Callable[[int, int], bytes]
Spans = Iterator[Tuple[int, int]]
_MAGIC = 0xCED7230A
_LENGTH_BITS = 29


def tfrecord_spans(read_at: ReadAt, size: int) -> Spans:
    """Yield offset and size in bytes of every record, its length and two checksums included.

    :param size: of the file in bytes.
    :raises ValueError: a record that reaches beyond the end, by number and offset.
    """
    return _walk(read_at, size, "<Q", 8, lambda length: 12 + length + 4)


def ofrecord_spans(read_at: ReadAt, size: int) -> Spans:
    """Yield offset and size in bytes of every record, its length included.

    :param size: of the file in bytes.
    :raises ValueError: as above.
    """
    return _walk(read_at, size, "<q", 8, lambda length: 8 + length)


def recordio_spans(read_at: ReadAt, size: int) -> Spans:
    """Yield offset and size in bytes of every part of a record, its head and padding included.

    :param size: of the file in bytes.
    :raises ValueError: as above, or a head without the magic number.
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
            raise ValueError(f"{where} is cut in its length: the file has {size} bytes")
        try:
            length = whole(struct.unpack(form, head)[0])
        except ValueError as error:
            raise ValueError(f"{where} {error}") from None
        if length <= head_size or offset + length > size:
            raise ValueError(f"{where} claims {length} bytes: the file has {size}")
        yield offset, length
        offset, number = offset + length, number + 1


# By layout; images are files of their own.
WALKS: Dict[str, Callable[[ReadAt, int], Spans]] = {
    "tfrecord": tfrecord_spans,
    "ofrecord": ofrecord_spans,
    "recordio": recordio_spans,
}
