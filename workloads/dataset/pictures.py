"""The pictures of the small set: JPEG files with a label, the same bytes each time.

The bytes of a JPEG depend on the encoder: role dataset pins Pillow.
"""

from __future__ import annotations

import io
import random
from collections import namedtuple

from PIL import Image
from textures import TEXTURES, pixels

QUALITY = 90

Picture = namedtuple("Picture", "label name_of_class file_name size jpeg")


def pictures(part, each, size):
    """Yield `each` pictures of every class, in an order in which the classes are mixed.

    :param part: `train` or `val`; the two have no picture in common.
    :param size: height and width in pixels.
    """
    order = [(label, number) for label in range(len(TEXTURES)) for number in range(each)]
    random.Random(f"order of {part}").shuffle(order)
    names = list(TEXTURES)
    for label, number in order:
        name = names[label]
        chance = random.Random(f"{part} {name} {number}")
        image = Image.frombytes("RGB", (size, size), pixels(name, size, chance))
        encoded = io.BytesIO()
        image.save(encoded, "JPEG", quality=QUALITY)
        yield Picture(label, name, f"{name}_{part}_{number:05d}.jpg", size, encoded.getvalue())
