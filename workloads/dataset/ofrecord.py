"""OFRecord parts of images, as OneFlow's reader of ImageNet expects them.

The form: a record is its length (int64, little-endian) and an OFRecord message; field numbers are
those of oneflow/core/record/record.proto. Labels begin at 0.
"""

from __future__ import annotations

import struct

from protobuf import feature_map

BYTES_LIST, INT32_LIST = 1, 4  # fields of oneflow.Feature


def part(pictures):
    """Return the bytes of one part."""
    records = []
    for number, picture in enumerate(pictures):
        message = feature_map(
            {
                "channels": 3,
                "class/label": picture.label,
                "class/synset": picture.name_of_class.encode(),
                "class/text": picture.name_of_class.encode(),
                "colorspace": b"RGB",
                "data_id": str(number).encode(),
                "encoded": picture.jpeg,
                "filename": picture.file_name.encode(),
                "format": b"JPEG",
                "height": picture.size,
                "width": picture.size,
            },
            BYTES_LIST,
            INT32_LIST,
        )
        records += [struct.pack("<q", len(message)), message]
    return b"".join(records)
