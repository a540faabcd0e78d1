"""How every framework trains ResNet-50: options, hyperparameters, and the header with them."""

from __future__ import annotations

from common.job import job_facts
from common.options import positive, trainer_parser
from resnet50.layers import DOWNSAMPLING

MOMENTUM = 0.875
WEIGHT_DECAY = 2**-15  # 3.05e-5
LABEL_SMOOTHING = 0.1
RATE_PER_IMAGE = 0.256 / 256


def image_parser(description):
    """Return the parser of the options that all trainers of this folder share."""
    rate = "constant; unset: 0.256 for every 256 images of the global batch"
    parser = trainer_parser(description, samples="images", rate=rate)
    parser.add_argument_group("images").add_argument(
        "--image-size", type=positive, default=32, metavar="PX", help="height and width of an image"
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


def learning_rate(options, world_size):
    """Return the rate asked for, else 0.256 for every 256 images of the global batch.

    The linear scaling rule: Goyal et al. 2017 (arXiv 1706.02677).
    """
    return options.learning_rate or RATE_PER_IMAGE * options.batch_size * world_size


def header_facts(options, place):
    """Return what the header of every trainer states; each adds what only it knows.

    :param options: of :func:`image_parser` and the trainer's own ``precision``.
    :param place: a ``ranks.Place``.
    """
    return {
        "model": "resnet50_v1.5",
        **job_facts(options, place),
        "image_size": options.image_size,
        "momentum": MOMENTUM,
        "weight_decay": WEIGHT_DECAY,
        "label_smoothing": LABEL_SMOOTHING,
        "learning_rate": learning_rate(options, place.world_size),
        "zero_init_residual": True,
    }
