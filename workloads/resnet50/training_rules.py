"""What every trainer of this folder trains alike, and the header that says so.

Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import platform

MOMENTUM = 0.875
WEIGHT_DECAY = 2**-15  # 3.05e-5
LABEL_SMOOTHING = 0.1
RATE_PER_IMAGE = 0.256 / 256
CHANNEL_MEAN = (123.675, 116.28, 103.53)  # of ImageNet's red, green and blue, on 0-255
CHANNEL_DEVIATION = (58.395, 57.12, 57.375)


def learning_rate(options, world_size):
    """Return the rate asked for, else 0.256 for each 256 images of the global batch.

    The linear scaling rule: Goyal et al. 2017 (arXiv 1706.02677).
    """
    return options.learning_rate or RATE_PER_IMAGE * options.batch_size * world_size


def header_facts(options, place):
    """Return what the header of every trainer says; each adds what only it knows.

    :param options: of ``shared_options.shared_parser`` and the trainer's own ``precision``.
    :param place: a ``rank_place.Place``.
    """
    return {
        "model": "resnet50_v1.5",
        "python": platform.python_version(),
        "world_size": place.world_size,
        "nodes": place.nodes,
        "devices_per_node": place.local_size,
        "precision": options.precision,
        "batch_size_per_device": options.batch_size,
        "global_batch_size": options.batch_size * place.world_size,
        "image_size": options.image_size,
        "data": options.data,
        "warmup": options.warmup,
        "iterations": options.iterations,
        "threads_per_rank": options.threads,
        "momentum": MOMENTUM,
        "weight_decay": WEIGHT_DECAY,
        "label_smoothing": LABEL_SMOOTHING,
        "learning_rate": learning_rate(options, place.world_size),
        "seed": options.seed,
    }
