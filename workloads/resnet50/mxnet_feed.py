"""Batches for the MXNet trainer: one random batch over and over, or images from a folder.

Each is `(epoch, batch, images, labels)`, the batch counted from 0 in its epoch.
"""

from __future__ import annotations

import itertools

import mxnet as mx
import numpy as np
from image_batches import image_batches
from resnet50_layers import CLASSES
from training_rules import CHANNEL_DEVIATION, CHANNEL_MEAN


def synthetic(options, settings, place):
    """Make one batch on the device and give it for ever."""
    chance = np.random.RandomState(options.seed + place.rank)
    shape = {"N": options.batch_size, "C": 3, "H": options.image_size, "W": options.image_size}
    images = chance.standard_normal([shape[axis] for axis in settings.layout])
    images = mx.nd.array(images, settings.device, settings.dtype)
    labels = mx.nd.array(chance.randint(CLASSES, size=options.batch_size), settings.device)
    for batch in itertools.count():
        yield 0, batch, images, labels


def folder(images, options, settings, place):
    """Give this rank's share of the images, shuffled anew each epoch, for ever.

    :param images: `(path, label)` of all.
    :raises BadDataError: naming the file that cannot be read.
    """
    shape = (options.batch_size, options.image_size, options.image_size, 3)
    mean = mx.nd.array(CHANNEL_MEAN, settings.device).reshape((1, 1, 1, 3))
    deviation = mx.nd.array(CHANNEL_DEVIATION, settings.device).reshape((1, 1, 1, 3))
    for epoch, batch, pixels, labels in image_batches(images, options, place):
        raw = np.frombuffer(pixels, np.uint8).reshape(shape)
        normal = mx.nd.array(raw, settings.device, "uint8").astype("float32")
        normal = (normal - mean) / deviation
        if settings.layout == "NCHW":
            normal = normal.transpose((0, 3, 1, 2))
        yield epoch, batch, normal.astype(settings.dtype), mx.nd.array(labels, settings.device)
