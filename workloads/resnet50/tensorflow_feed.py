"""Batches for the TensorFlow trainer: one random batch over and over, or images from a folder."""

from __future__ import annotations

import numpy
import tensorflow.compat.v2 as tf
from image_batches import image_batches
from resnet50_layers import CLASSES
from training_rules import CHANNEL_DEVIATION, CHANNEL_MEAN


def synthetic(options, place, layout):
    """Make one batch on the device and give it for ever: epoch, images, labels."""
    chance = numpy.random.RandomState(options.seed + place.rank)
    size = options.image_size
    shape = (size, size, 3) if layout == "NHWC" else (3, size, size)
    images = tf.constant(chance.standard_normal((options.batch_size, *shape)), tf.float32)
    labels = tf.constant(chance.randint(CLASSES, size=options.batch_size), tf.int32)
    while True:
        yield 0, images, labels


def folder(images, options, place, layout):
    """Give this rank's share of the images, shuffled anew each epoch, for ever.

    :param images: `(path, label)` of all.
    :raises BadDataError: naming the file that cannot be read.
    """
    size = options.image_size
    mean, deviation = tf.constant(CHANNEL_MEAN), tf.constant(CHANNEL_DEVIATION)
    for epoch, _, pixels, labels in image_batches(images, options, place):
        whole = numpy.frombuffer(pixels, numpy.uint8).reshape(-1, size, size, 3)
        normal = (tf.cast(tf.constant(whole), tf.float32) - mean) / deviation
        if layout == "NCHW":
            normal = tf.transpose(normal, (0, 3, 1, 2))
        yield epoch, normal, tf.constant(labels, tf.int32)
