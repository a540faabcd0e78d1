"""The pictures of the small set: JPEG files of eight textures that a network soon tells apart.

Hues, sizes and positions change. Each class looks the same in a mirror and in most crops, so that
the usual augmentation leaves the label true. The pixels use only arithmetic that IEEE 754 rounds
exactly: they are the same on every machine. The bytes of a JPEG depend on the encoder: role dataset
pins Pillow.
"""

from __future__ import annotations

import colorsys
import io
import random
from collections import namedtuple

from PIL import Image

QUALITY = 90
NOISE = 32  # levels of noise on a pixel, centred on 0
SPREAD = 0.6  # of a class's hues to each side, in steps between classes: neighbours share a sixth

Picture = namedtuple("Picture", "label class_name file_name size jpeg")


def _bands(u, v):
    return v % 1 < 0.5


def _bars(u, v):
    return u % 1 < 0.5


def _bricks(u, v):
    return v % 1 < 0.2 or (u + 0.5 * (v % 2 < 1)) % 1 < 0.15


def _checks(u, v):
    return (u % 1 < 0.5) != (v % 1 < 0.5)


def _dots(u, v):
    return (u % 1 - 0.5) ** 2 + (v % 1 - 0.5) ** 2 < 0.09


def _grid(u, v):
    return u % 1 < 0.2 or v % 1 < 0.2


def _slants(u, v):
    return (u + v) % 1 < 0.5


def _zigzag(u, v):
    return (v + abs(u % 1 - 0.5)) % 1 < 0.5


# In the order of their names: a class's label is its position, as with folders.
TEXTURES = {
    "bands": _bands,
    "bars": _bars,
    "bricks": _bricks,
    "checks": _checks,
    "dots": _dots,
    "grid": _grid,
    "slants": _slants,
    "zigzag": _zigzag,
}


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


def pixels(name, size, chance):
    """Return one picture of the texture `name` as `size` x `size` x 3 bytes, rows first, RGB.

    :param chance: a :class:`random.Random`; the same state gives the same bytes.
    """
    texture = TEXTURES[name]
    scale = 1 / (size * chance.uniform(0.2, 0.45))
    lean_across, lean_down = chance.uniform(-0.1, 0.1), chance.uniform(-0.1, 0.1)
    left, top = chance.uniform(2, 4), chance.uniform(2, 4)
    tones = [_with_noise(colour) for colour in _two_colours(name, chance)]
    noise = iter(chance.getrandbits(8 * size * size).to_bytes(size * size, "little"))
    return b"".join(
        tones[texture((x + lean_across * y) * scale + left, (y + lean_down * x) * scale + top)][
            next(noise) % NOISE
        ]
        for y in range(size)
        for x in range(size)
    )


def _two_colours(name, chance):
    """Return a dark and a bright tone of a hue near the class's own, in either order."""
    position = list(TEXTURES).index(name) + chance.uniform(-SPREAD, SPREAD)
    hue, saturation = position / len(TEXTURES) % 1, chance.uniform(0.5, 1)
    values = chance.uniform(0.1, 0.4), chance.uniform(0.7, 1)
    shares = [colorsys.hsv_to_rgb(hue, saturation, value) for value in values]
    tones = [[round(255 * share) for share in colour] for colour in shares]
    chance.shuffle(tones)
    return tones


def _with_noise(colour):
    """Return the colour with each level of noise, as three bytes."""
    return [
        bytes(min(255, max(0, part + level - NOISE // 2)) for part in colour)
        for level in range(NOISE)
    ]
