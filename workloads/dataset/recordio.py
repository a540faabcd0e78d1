"""MXNet's RecordIO: the images in a .rec file, where each begins in a .idx file.

The form: dmlc-core's include/dmlc/recordio.h; the header of an image is IRHeader of
https://mxnet.apache.org/api/python/docs/api/mxnet/recordio. Labels begin at 0.
"""

from __future__ import annotations

import struct

MAGIC = struct.pack("<I", 0xCED7230A)
WHOLE, FIRST, MIDDLE, LAST = 0, 1, 2, 3  # which part of a record follows
LENGTH_BITS = 29


def record(data):
    """Return `data` as one record, padded to four bytes.

    Where the magic number lies at a multiple of four bytes in it, a reader would take it for a new
    record: it is left out there and the record parted.

    :raises ValueError: if a part is 512 MiB or more.
    """
    cuts = [at for at in range(0, len(data) - 3, 4) if data[at : at + 4] == MAGIC]
    begins, ends = [0, *(at + 4 for at in cuts)], [*cuts, len(data)]
    encoded = b""
    for number, (begin, end) in enumerate(zip(begins, ends)):
        if not cuts:
            kind = WHOLE
        elif number == 0:
            kind = FIRST
        else:
            kind = LAST if end == len(data) else MIDDLE
        encoded += _part(data[begin:end], kind)
    return encoded


def _part(data, kind):
    if len(data) >> LENGTH_BITS:
        raise ValueError(f"{len(data)} bytes are too many for a record: {1 << LENGTH_BITS} at most")
    head = MAGIC + struct.pack("<I", kind << LENGTH_BITS | len(data))
    return head + data + bytes(-len(data) % 4)


def image_record(number, picture):
    """Return one image behind its IRHeader: no flag, one label, its number, no second number."""
    return record(struct.pack("<IfQQ", 0, picture.label, number, 0) + picture.jpeg)


def rec_and_idx(pictures):
    """Return the bytes of the .rec and of the .idx file (`number<tab>offset` a line)."""
    records, index, offset = [], [], 0
    for number, picture in enumerate(pictures):
        encoded = image_record(number, picture)
        index.append(f"{number}\t{offset}\n")
        records.append(encoded)
        offset += len(encoded)
    return b"".join(records), "".join(index).encode()
