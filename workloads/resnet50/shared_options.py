"""The command line that every trainer of this folder has, whatever its framework.

Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from pathlib import Path

from image_folder import labelled_images

DOWNSAMPLING = 32  # ResNet-50's last stage sees the image 32 times smaller


class ShowDefaults(argparse.ArgumentDefaultsHelpFormatter):
    """Help that ends with the default, where there is one."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def shared_parser(description):
    """Return a parser with the options that do not depend on a framework."""
    parser = argparse.ArgumentParser(description=description, formatter_class=ShowDefaults)
    measure = parser.add_argument_group("what is measured")
    measure.add_argument(
        "--batch-size", type=positive, default=4, metavar="N", help="images a device and iteration"
    )
    measure.add_argument(
        "--image-size", type=positive, default=32, metavar="PX", help="height and width of an image"
    )
    measure.add_argument(
        "--warmup",
        type=not_negative,
        default=20,
        metavar="N",
        help="iterations before the measured",
    )
    measure.add_argument(
        "--iterations", type=positive, default=100, metavar="N", help="measured iterations"
    )
    measure.add_argument(
        "--device", choices=("auto", "cpu", "gpu"), default="auto", help="auto: a GPU where one is"
    )
    measure.add_argument(
        "--threads",
        type=positive,
        default=default_threads(os.environ),
        metavar="N",
        help="CPU threads a rank computes with; OMP_NUM_THREADS is the default where it is set",
    )
    data = parser.add_argument_group("data")
    data.add_argument(
        "--data",
        choices=("synthetic", "real"),
        default="synthetic",
        help="synthetic: one random batch made on the device; real: images of --data-dir",
    )
    data.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="a data set: images/, tfrecord/ or recordio/ lies in it",
    )
    data.add_argument(
        "--workers", type=not_negative, default=2, metavar="N", help="processes a rank reads with"
    )
    training = parser.add_argument_group("training")
    training.add_argument("--seed", type=not_negative, default=1, help="of weights and data")
    training.add_argument(
        "--learning-rate",
        type=positive_number,
        metavar="X",
        help="constant; unset: 0.256 for each 256 images of the global batch",
    )
    return parser


def check_sizes(parser, options):
    """End with `parser.error` where the last stage would have nothing to normalise over."""
    side = -(-options.image_size // DOWNSAMPLING)
    if options.batch_size * side * side < 2:
        parser.error(
            f"--batch-size {options.batch_size} with --image-size {options.image_size} leaves one "
            "value a channel in the last stage, and batch normalisation needs two: raise the batch "
            f"size to 2 or the image size to {DOWNSAMPLING + 1}"
        )


def images_to_read(parser, options, world_size):
    """Return the `(path, label)` list of the data folder, empty for synthetic data.

    Ends with `parser.error` where the folder cannot feed one iteration of `world_size` ranks.
    """
    if options.data == "synthetic":
        if options.data_dir is not None:
            parser.error("--data-dir is only read with --data real")
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


def default_threads(environment):
    """Return OMP_NUM_THREADS where it is a positive integer, else 1."""
    value = environment.get("OMP_NUM_THREADS", "")
    return int(value) if value.isdigit() and int(value) > 0 else 1


def positive(text):
    """Read an integer of at least 1."""
    return _integer(text, 1)


def not_negative(text):
    """Read an integer of at least 0."""
    return _integer(text, 0)


def positive_number(text):
    """Read a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def _integer(text, least):
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"{value} is not at least {least}")
    return value
