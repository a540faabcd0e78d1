"""Batches for the TensorFlow trainer: one random batch over and over, a folder, or TFRecord.

Each is `(epoch, batch, images, labels)`, the batch numbered from 0 in its epoch.
"""

from __future__ import annotations

import itertools
import random

import numpy
import tensorflow.compat.v2 as tf

from common.report_lines import BadDataError
from resnet50.images import (
    CHANNEL_DEVIATION,
    CHANNEL_MEAN,
    image_batches,
    middles,
    normalised,
)
from resnet50.layers import CLASSES

SHUFFLED = 2048  # records among which the next one is drawn
NO_LABEL = -1  # of what fills up the last batch of an evaluation


def make_feed(images, options, place, layout):
    """Return this rank's batches.

    :param images: `(path, label)` of all images in folders.
    :param layout: `NHWC` or `NCHW`.
    """
    if options.data == "synthetic":
        return synthetic(options, place, layout)
    if options.data_backend == "tfrecord":
        return from_records(options, place, layout)
    return from_folder(images, options, place, layout)


def synthetic(options, place, layout):
    """Make one batch on the device and yield it without end."""
    chance = numpy.random.RandomState(options.seed + place.rank)
    size = options.image_size
    shape = (size, size, 3) if layout == "NHWC" else (3, size, size)
    images = tf.constant(chance.standard_normal((options.batch_size, *shape)), tf.float32)
    labels = tf.constant(chance.randint(CLASSES, size=options.batch_size), tf.int32)
    for batch in itertools.count():
        yield 0, batch, images, labels


def from_folder(images, options, place, layout):
    """Yield this rank's share of the images, shuffled anew each epoch, without end.

    :raises BadDataError: naming the file that cannot be read.
    """
    size = options.image_size
    for epoch, batch, pixels, labels in image_batches(images, options, place):
        whole = numpy.frombuffer(pixels, numpy.uint8).reshape(-1, size, size, 3)
        on_device = tf.cast(tf.constant(whole), tf.float32)
        yield epoch, batch, _normalised(on_device, layout), tf.constant(labels, tf.int32)


def from_records(options, place, layout):
    """Yield this rank's share of the records, which tf.data decodes and augments, without end.

    A share is whole shards where every rank has one, else every world_size-th record of all shards.

    :raises BadDataError: naming what cannot be read, or a share that does not fill a batch.
    """
    folder = options.data_dir / "tfrecord"
    shards = sorted(str(path) for path in folder.glob("train-*"))
    if not shards:
        raise BadDataError(f"no train-* file in {folder}")
    for epoch in itertools.count():
        batch = -1
        try:
            for batch, (pixels, labels) in enumerate(_epoch(list(shards), options, place, epoch)):
                yield epoch, batch, _normalised(pixels, layout), labels
        except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
            raise BadDataError(f"{folder}: {error.message}") from None
        if batch < 0:
            raise BadDataError(
                f"rank {place.rank}'s share of {folder} does not fill a batch of "
                f"{options.batch_size}"
            )


def _epoch(shards, options, place, epoch):
    random.Random(f"{options.seed} {epoch}").shuffle(shards)
    whole = len(shards) >= place.world_size
    dataset = tf.data.TFRecordDataset(shards[place.rank :: place.world_size] if whole else shards)
    if not whole:
        dataset = dataset.shard(place.world_size, place.rank)
    dataset = dataset.shuffle(SHUFFLED, options.seed + epoch)
    # TensorFlow's operations begin anew with each epoch, and alike on all ranks.
    seed = random.Random(f"{options.seed} {epoch} {place.rank}").getrandbits(31)
    dataset = dataset.map(lambda record: _augmented(record, options, seed), max(1, options.workers))
    return dataset.batch(options.batch_size, drop_remainder=True).prefetch(2)


def _augmented(record, options, seed):
    """Return pixels on 0-255 and the label from 0 of one record.

    The crop is that of ``images.random_crop``, drawn by TensorFlow's own operation.
    """
    features = tf.io.parse_single_example(
        record,
        {
            "image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    encoded = features["image/encoded"]
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(encoded),
        tf.zeros((1, 0, 4)),
        seed=seed,
        area_range=(0.08, 1.0),
        aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    window = tf.concat([begin[:2], size[:2]], 0)
    image = tf.image.decode_and_crop_jpeg(encoded, window, channels=3)
    image = tf.image.resize(image, (options.image_size, options.image_size))
    image = tf.image.random_flip_left_right(image, seed)
    return image, tf.cast(features["image/class/label"] - 1, tf.int32)


def _normalised(pixels, layout):
    normal = (pixels - tf.constant(CHANNEL_MEAN)) / tf.constant(CHANNEL_DEVIATION)
    return normal if layout == "NHWC" else tf.transpose(normal, (0, 3, 1, 2))


def evaluation_batches(images, options, layout):
    """Yield images and labels of one pass over the middles of `images`, all batches of one size."""
    size, count = options.image_size, options.batch_size
    for pixels, labels in middles(images, options):
        whole = pixels.ljust(count * size * size * 3, b"\0")
        padded = labels + [NO_LABEL] * (count - len(labels))
        yield tf.constant(normalised(whole, size, layout)), numpy.array(padded)
