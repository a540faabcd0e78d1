"""TFRecord shards of images, as TensorFlow's and DALI's readers of ImageNet expect them.

The form: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
"""

from __future__ import annotations

import struct

from protobuf import feature_map, field

BYTES_LIST, INT64_LIST = 1, 3  # fields of tensorflow.Feature
CASTAGNOLI = 0x82F63B78  # the polynomial of CRC-32C (RFC 3720), lowest bit first


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (CASTAGNOLI if byte & 1 else 0)  # noqa: PLW2901 (the register)
        table.append(byte)
    return table


_TABLE = _crc_table()


def crc32c(data):
    """Return the CRC-32C of `data`."""
    register = 0xFFFFFFFF
    for byte in data:
        register = register >> 8 ^ _TABLE[(register ^ byte) & 0xFF]
    return register ^ 0xFFFFFFFF


def masked(crc):
    """Return a CRC as TFRecord stores it: rotated and shifted, since data may hold CRCs itself."""
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def record(data):
    """Return `data` with its length before it and a checksum after each of the two."""
    length = struct.pack("<Q", len(data))
    return b"".join(
        (
            length,
            struct.pack("<I", masked(crc32c(length))),
            data,
            struct.pack("<I", masked(crc32c(data))),
        )
    )


def example(picture):
    """Return a :class:`pictures.Picture` as ImageNet's Example; its labels begin at 1.

    Label 0 is ImageNet's background class, which no image has.
    """
    features = feature_map(
        {
            "image/channels": 3,
            "image/class/label": picture.label + 1,
            "image/class/synset": picture.name_of_class.encode(),
            "image/class/text": picture.name_of_class.encode(),
            "image/colorspace": b"RGB",
            "image/encoded": picture.jpeg,
            "image/filename": picture.file_name.encode(),
            "image/format": b"JPEG",
            "image/height": picture.size,
            "image/width": picture.size,
        },
        BYTES_LIST,
        INT64_LIST,
    )
    return field(1, features)


def shard(pictures):
    """Return the bytes of one shard."""
    return b"".join(record(example(picture)) for picture in pictures)
