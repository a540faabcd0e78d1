"""A data set on disk: one folder a class, image files in it. Pillow is imported only to decode.

Below the data set's folder these are in images/train and images/val.
"""

from __future__ import annotations

import random
from pathlib import Path

from report_lines import BadDataError

SUFFIXES = frozenset((".bmp", ".jpeg", ".jpg", ".png", ".webp"))
CLASSES = 1000  # what the model tells apart


def class_folders(folder):
    """Return the class folders in `folder`, sorted by name; a class's label is its place.

    :raises ValueError: if the folder is missing, has no class folder, or more than 1000.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    if not classes:
        raise ValueError(f"{folder} has no class folders; it needs one folder a class")
    if len(classes) > CLASSES:
        raise ValueError(f"{folder} has {len(classes)} class folders, the model {CLASSES} classes")
    return classes


def labelled_images(data_dir, part="train"):
    """Return `(path, label)` of every image file, sorted by class and name.

    :param data_dir: the data set's folder.
    :param part: `train` or `val`.
    :raises ValueError: as :func:`class_folders`, or if no class folder holds an image.
    """
    folder = Path(data_dir) / "images" / part
    images = [
        (str(path), label)
        for label, class_folder in enumerate(class_folders(folder))
        for path in sorted(class_folder.iterdir())
        if path.suffix.lower() in SUFFIXES
    ]
    if not images:
        raise ValueError(f"no {', '.join(sorted(SUFFIXES))} file in the class folders of {folder}")
    return images


def random_crop(width, height, chance):
    """Choose a crop of 8-100 % of the area and an aspect of 3:4 to 4:3 (Inception's rule).

    :param chance: a :class:`random.Random`.
    :returns: `(left, top, right, bottom)` in pixels; after ten misfits the central square.
    """
    for _ in range(10):
        area = width * height * chance.uniform(0.08, 1.0)
        aspect = (4 / 3) ** chance.uniform(-1.0, 1.0)
        across, down = round((area * aspect) ** 0.5), round((area / aspect) ** 0.5)
        if 0 < across <= width and 0 < down <= height:
            left, top = chance.randint(0, width - across), chance.randint(0, height - down)
            return left, top, left + across, top + down
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    return left, top, left + side, top + side


def central_square(width, height):
    """Return the box that is evaluated: the middle 224/256 of the shorter side, as with ImageNet.

    :returns: `(left, top, right, bottom)` in pixels.
    """
    side = max(1, round(min(width, height) * 224 / 256))
    left, top = (width - side) // 2, (height - side) // 2
    return left, top, left + side, top + side


def read_image(path, size, chance=random):
    """Return an augmented image as `size` x `size` x 3 bytes, rows first, red green blue.

    :raises BadDataError: naming the file that Pillow cannot decode.
    """
    return _decode(path, size, lambda *sides: random_crop(*sides, chance), chance.random() < 0.5)


def read_for_evaluation(path, size):
    """Return the middle of an image in the form of :func:`read_image`, always the same.

    :raises BadDataError: naming the file that Pillow cannot decode.
    """
    return _decode(path, size, central_square, False)


def _decode(path, size, box_of, mirrored):
    from PIL import Image  # noqa: PLC0415 (only needed for real data)

    try:
        with Image.open(path) as picture:
            box = box_of(*picture.size)
            image = picture.convert("RGB").resize((size, size), Image.BILINEAR, box=box)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise BadDataError(f"cannot decode {path}: {error}") from None
    return (image.transpose(Image.FLIP_LEFT_RIGHT) if mirrored else image).tobytes()
