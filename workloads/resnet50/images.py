"""A data set of images on disk: images/train and images/val, with one folder per class.

Both may also stand in the data set's own folder.

Pillow and NumPy are imported only to decode images.
"""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

from common.batches import read_ahead, shuffled_batches
from common.options import refuse_unread
from common.report_lines import BadDataError
from resnet50.layers import CLASSES

_FEW = 4  # batches
SUFFIXES = frozenset((".bmp", ".jpeg", ".jpg", ".png", ".webp"))
CHANNEL_MEAN = (123.675, 116.28, 103.53)  # of ImageNet's red, green and blue, on 0-255
CHANNEL_DEVIATION = (58.395, 57.12, 57.375)


def images_to_read(parser, options, world_size):
    """Return the `(path, label)` list of the training images, empty for synthetic data.

    Ends with `parser.error` where the folder cannot feed one iteration of `world_size` ranks.
    """
    if options.data == "synthetic":
        refuse_unread(parser, ("data_dir", "workers"), "--data real")
        return []
    if options.data_dir is None:
        parser.error("--data real needs --data-dir")
    if importlib.util.find_spec("PIL") is None:
        parser.error(
            "--data real needs Pillow, which this Python does not have: pip install pillow"
        )
    try:
        images = labelled_images(options.data_dir)
    except (OSError, ValueError) as error:
        parser.error(f"--data-dir: {error}")
    if len(images) < options.batch_size * world_size:
        parser.error(
            f"--data-dir: {options.data_dir} has {len(images)} training images, fewer than the "
            f"global batch of {options.batch_size * world_size}"
        )
    return images


def labelled_images(data_dir, part="train"):
    """Return `(path, label)` of every image file, sorted by class and name.

    :param data_dir: the data set's folder.
    :param part: `train` or `val`.
    :raises ValueError: as :func:`class_folders`, or if no class folder holds an image.
    """
    folder = images_folder(data_dir) / part
    images = [
        (str(path), label)
        for label, class_folder in enumerate(class_folders(folder))
        for path in sorted(class_folder.iterdir())
        if path.suffix.lower() in SUFFIXES
    ]
    if not images:
        raise ValueError(f"no {', '.join(sorted(SUFFIXES))} file in the class folders of {folder}")
    return images


def images_to_evaluate(data_dir):
    """Return `(path, label)` of every validation image.

    :raises ValueError: as :func:`labelled_images`, or if training and validation images have
        different classes: a label is the position of its class folder.
    """
    train, val = (
        [folder.name for folder in class_folders(images_folder(data_dir) / part)]
        for part in ("train", "val")
    )
    if train != val:
        odd = sorted(set(train) ^ set(val))
        raise ValueError(
            f"images/train and images/val of {data_dir} differ in {len(odd)} class folders, "
            f"{odd[0]} the first of them"
        )
    return labelled_images(data_dir, "val")


def images_folder(data_dir):
    """Return the folder with `train` and `val`: `images`, or where there is none, `data_dir`."""
    folder = Path(data_dir) / "images"
    return Path(data_dir) if (Path(data_dir) / "train").is_dir() and not folder.is_dir() else folder


def class_folders(folder):
    """Return the class folders in `folder`, sorted by name; a class's label is its position.

    :raises ValueError: if the folder is missing, has no class folder, or more than 1000.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    if not classes:
        raise ValueError(f"{folder} has no class folders; it needs one folder per class")
    if len(classes) > CLASSES:
        raise ValueError(f"{folder} has {len(classes)} class folders, the model {CLASSES} classes")
    return classes


def image_batches(images, options, place):
    """Yield the batches of this rank, shuffled anew each epoch, without end.

    :param images: `(path, label)` of all, at least one batch for every rank.
    :param options: batch_size, image_size, workers, seed.
    :returns: `(epoch, batch, pixels, labels)`: the batch numbered from 0 in its epoch, the pixels
        as bytes of batch_size x image_size x image_size x 3.
    :raises BadDataError: naming the file that cannot be read.
    """
    jobs = (
        # An image's crop depends on neither the rank nor the process that reads it.
        (
            epoch,
            batch,
            [(*images[index], f"{options.seed} {epoch} {index}") for index in indices],
            options.image_size,
        )
        for epoch, batch, indices in shuffled_batches(len(images), options, place)
    )
    return read_ahead(_read_batch, jobs, options.workers)


def _read_batch(epoch, batch, files, size):
    pixels = b"".join(read_image(path, size, random.Random(seed)) for path, _, seed in files)
    return epoch, batch, pixels, [label for _, label, _ in files]


def normalised(pixels, size, layout):
    """Return bytes of `size` x `size` x 3 images as a normalised NumPy array of float32.

    :param layout: `NHWC` or `NCHW`, the order of its axes.
    """
    import numpy  # noqa: PLC0415 (reader processes do not need it)

    whole = numpy.frombuffer(pixels, numpy.uint8).reshape(-1, size, size, 3)
    normal = (whole - numpy.float32(CHANNEL_MEAN)) / numpy.float32(CHANNEL_DEVIATION)
    return normal if layout == "NHWC" else numpy.ascontiguousarray(normal.transpose(0, 3, 1, 2))


def random_crop(width, height, chance):
    """Choose a crop of 8-100 % of the area and an aspect of 3:4 to 4:3 (Inception's rule).

    :param chance: a :class:`random.Random`.
    :returns: `(left, top, right, bottom)` in pixels; the central square if ten draws do not fit.
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


def middles(images, options):
    """Yield the pixels and labels of one pass over the middles of `images`, batch by batch.

    :param options: batch_size, image_size, workers.
    :returns: `(pixels, labels)`, the pixels as bytes; the last batch may be smaller.
    :raises BadDataError: naming the file that cannot be read.
    """
    starts = range(0, len(images), options.batch_size)
    jobs = [(images[at : at + options.batch_size], options.image_size) for at in starts]
    # Processes take longer to start than a few batches to read.
    return read_ahead(_read_middles, jobs, min(options.workers, len(jobs) // _FEW))


def _read_middles(files, size):
    pixels = b"".join(read_for_evaluation(path, size) for path, _ in files)
    return pixels, [label for _, label in files]


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
