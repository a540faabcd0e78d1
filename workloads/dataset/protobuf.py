"""Just enough of Protocol Buffers' wire format to write a map from names to lists of values.

Rules: https://protobuf.dev/programming-guides/encoding. OneFlow's OFRecord is such a map, and
TensorFlow's Example holds one; they differ in the field numbers.
"""

from __future__ import annotations

VARINT, LENGTH_DELIMITED = 0, 2  # wire types


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


def field(number, payload):
    """Return field `number` holding `payload`: a message, bytes, or packed numbers."""
    return varint(number << 3 | LENGTH_DELIMITED) + varint(len(payload)) + payload


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
