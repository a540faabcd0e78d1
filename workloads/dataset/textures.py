"""Pictures that a network can tell apart: eight textures in changing colours, sizes and places.

Each class looks the same in a mirror and in most crops, so that the usual augmentation leaves the
label true. Only arithmetic that IEEE 754 rounds exactly is used: the pixels are the same anywhere.
"""

from __future__ import annotations

import random

NOISE = 32  # levels of noise on a pixel, centred on 0
LEAST_CONTRAST = 60  # between the brightness of a picture's two colours, of 255


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


# In the order of their names: a class's label is its place, as with folders.
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


def pixels(name, size, chance):
    """Return one picture of the texture `name` as `size` x `size` x 3 bytes, rows first, RGB.

    :param chance: a :class:`random.Random`; the same state gives the same bytes.
    """
    texture = TEXTURES[name]
    scale = 1 / (size * chance.uniform(0.2, 0.45))
    lean_across, lean_down = chance.uniform(-0.1, 0.1), chance.uniform(-0.1, 0.1)
    left, top = chance.uniform(2, 4), chance.uniform(2, 4)
    tones = [_tone(colour) for colour in _two_colours(chance)]
    noise = iter(chance.getrandbits(8 * size * size).to_bytes(size * size, "little"))
    return b"".join(
        tones[texture((x + lean_across * y) * scale + left, (y + lean_down * x) * scale + top)][
            next(noise) % NOISE
        ]
        for y in range(size)
        for x in range(size)
    )


def _two_colours(chance: random.Random):
    while True:
        pair = [[chance.randrange(256) for _ in range(3)] for _ in range(2)]
        dark, bright = sorted(sum(colour) / 3 for colour in pair)
        if bright - dark >= LEAST_CONTRAST:
            return pair


def _tone(colour):
    """Return the colour with each level of noise, as three bytes."""
    return [
        bytes(min(255, max(0, part + level - NOISE // 2)) for part in colour)
        for level in range(NOISE)
    ]
