"""Images in the record files of TensorFlow (TFRecord), OneFlow (OFRecord) and MXNet (RecordIO).

TFRecord: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details.
OFRecord: oneflow/core/record/record.proto. RecordIO: dmlc-core's include/dmlc/recordio.h, and
IRHeader of https://mxnet.apache.org/api/python/docs/api/mxnet/recordio. TFRecord and OFRecord hold
Protocol Buffers (https://protobuf.dev/programming-guides/encoding): a map from names to lists, with
different field numbers.
"""

from __future__ import annotations

import struct

LENGTH_DELIMITED = 2  # a wire type of Protocol Buffers
TENSORFLOW_LISTS = 1, 3  # fields of tensorflow.Feature: bytes_list, int64_list
ONEFLOW_LISTS = 1, 4  # fields of oneflow.Feature: bytes_list, int32_list
CASTAGNOLI = 0x82F63B78  # the polynomial of CRC-32C (RFC 3720), lowest bit first
RECORDIO_MAGIC = struct.pack("<I", 0xCED7230A)
WHOLE, FIRST, MIDDLE, LAST = 0, 1, 2, 3  # which part of a RecordIO record follows
LENGTH_BITS = 29


def tfrecord_shard(pictures):
    """Return the bytes of one TFRecord shard."""
    return b"".join(tfrecord(tensorflow_example(picture)) for picture in pictures)


def tfrecord(data):
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


def tensorflow_example(picture):
    """Return a :class:`pictures.Picture` as ImageNet's Example; its labels begin at 1.

    Label 0 is ImageNet's background class, which no image has.
    """
    features = feature_map(
        {
            "image/channels": 3,
            "image/class/label": picture.label + 1,
            "image/class/synset": picture.class_name.encode(),
            "image/class/text": picture.class_name.encode(),
            "image/colorspace": b"RGB",
            "image/encoded": picture.jpeg,
            "image/filename": picture.file_name.encode(),
            "image/format": b"JPEG",
            "image/height": picture.size,
            "image/width": picture.size,
        },
        *TENSORFLOW_LISTS,
    )
    return field(1, features)


def ofrecord_part(pictures):
    """Return the bytes of one OFRecord part: records of a length (int64) and a message.

    Labels begin at 0.
    """
    records = []
    for number, picture in enumerate(pictures):
        message = feature_map(
            {
                "channels": 3,
                "class/label": picture.label,
                "class/synset": picture.class_name.encode(),
                "class/text": picture.class_name.encode(),
                "colorspace": b"RGB",
                "data_id": str(number).encode(),
                "encoded": picture.jpeg,
                "filename": picture.file_name.encode(),
                "format": b"JPEG",
                "height": picture.size,
                "width": picture.size,
            },
            *ONEFLOW_LISTS,
        )
        records += [struct.pack("<q", len(message)), message]
    return b"".join(records)


def feature_map(features, bytes_list, integers_list):
    """Return `map<string, Feature>` as field 1 of a message.

    :param features: by name bytes, or a non-negative integer; written in the order of the names.
    :param bytes_list: the number of Feature's field for a list of bytes.
    :param integers_list: the number of Feature's field for a list of integers.
    """
    encoded = b""
    for name in sorted(features):
        value = features[name]
        if isinstance(value, bytes):
            feature = field(bytes_list, field(1, value))
        else:
            feature = field(integers_list, field(1, varint(value)))
        encoded += field(1, field(1, name.encode()) + field(2, feature))
    return encoded


def field(number, payload):
    """Return field `number` with `payload`: a message, bytes, or packed numbers."""
    return varint(number << 3 | LENGTH_DELIMITED) + varint(len(payload)) + payload


def varint(number):
    """Return a non-negative integer, seven bits a byte, lowest first.

    :raises ValueError: if it is negative.
    """
    if number < 0:
        raise ValueError(f"{number} is negative")
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


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
    """Return a CRC as TFRecord stores it: rotated and shifted, because data may contain CRCs."""
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def recordio_files(pictures):
    """Return the bytes of the .rec and of the .idx file (`number<tab>offset` a line).

    An image follows its IRHeader: no flag, one label (from 0), its number, no second number.
    """
    records, index, offset = [], [], 0
    for number, picture in enumerate(pictures):
        header = struct.pack("<IfQQ", 0, picture.label, number, 0)
        encoded = recordio_record(header + picture.jpeg)
        index.append(f"{number}\t{offset}\n")
        records.append(encoded)
        offset += len(encoded)
    return b"".join(records), "".join(index).encode()


def recordio_record(data):
    """Return `data` as one RecordIO record, padded to four bytes.

    A reader would take the magic number at a multiple of four bytes in `data` for a new record: it
    is left out there and the record split.

    :raises ValueError: if a part is 512 MiB or more.
    """
    cuts = [at for at in range(0, len(data) - 3, 4) if data[at : at + 4] == RECORDIO_MAGIC]
    begins, ends = [0, *(at + 4 for at in cuts)], [*cuts, len(data)]
    encoded = b""
    for number, (begin, end) in enumerate(zip(begins, ends)):
        if not cuts:
            kind = WHOLE
        elif number == 0:
            kind = FIRST
        else:
            kind = LAST if end == len(data) else MIDDLE
        encoded += _recordio_part(data[begin:end], kind)
    return encoded


def _recordio_part(data, kind):
    if len(data) >> LENGTH_BITS:
        raise ValueError(
            f"{len(data)} bytes are too many for a record: at most {(1 << LENGTH_BITS) - 1}"
        )
    head = RECORDIO_MAGIC + struct.pack("<I", kind << LENGTH_BITS | len(data))
    return head + data + bytes(-len(data) % 4)
