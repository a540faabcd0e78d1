"""Batches for the TensorFlow trainer from TFRecord shards, read, decoded and augmented by tf.data.

The crop is the folders' (``image_folder.random_crop``), drawn by TensorFlow's own operation.
"""

from __future__ import annotations

import random

import tensorflow.compat.v2 as tf
from report_lines import BadDataError
from training_rules import CHANNEL_DEVIATION, CHANNEL_MEAN

SHUFFLED = 2048  # records among which the next one is drawn


def records(options, place, layout):
    """Give this rank's share of the images, shuffled anew each epoch, for ever.

    Whole shards where every rank has one, else every so many-th record of all shards.

    :raises BadDataError: naming what cannot be read, or that a share does not fill a batch.
    """
    shards = sorted(str(path) for path in (options.data_dir / "tfrecord").glob("train-*"))
    if not shards:
        raise BadDataError(f"no train-* file in {options.data_dir / 'tfrecord'}")
    epoch = 0
    while True:
        dataset = _epoch(list(shards), options, place, epoch)
        batches = 0
        try:
            for pixels, labels in dataset:
                batches += 1
                yield epoch, _normal(pixels, layout), labels
        except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
            raise BadDataError(f"{options.data_dir / 'tfrecord'}: {error.message}") from None
        if not batches:
            raise BadDataError(
                f"rank {place.rank}'s share of {options.data_dir / 'tfrecord'} does not fill a "
                f"batch of {options.batch_size}"
            )
        epoch += 1


def _epoch(shards, options, place, epoch):
    random.Random(f"{options.seed} {epoch}").shuffle(shards)
    whole = len(shards) >= place.world_size
    dataset = tf.data.TFRecordDataset(shards[place.rank :: place.world_size] if whole else shards)
    if not whole:
        dataset = dataset.shard(place.world_size, place.rank)
    dataset = dataset.shuffle(SHUFFLED, options.seed + epoch)
    dataset = dataset.map(lambda record: _augmented(record, options), max(1, options.workers))
    return dataset.batch(options.batch_size, drop_remainder=True).prefetch(2)


def _augmented(record, options):
    """Return pixels on 0-255 and the label from 0 of one record."""
    found = tf.io.parse_single_example(
        record,
        {
            "image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    encoded = found["image/encoded"]
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(encoded),
        tf.zeros((1, 0, 4)),
        seed=options.seed,
        area_range=(0.08, 1.0),
        aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    window = tf.concat([begin[:2], size[:2]], 0)
    image = tf.image.decode_and_crop_jpeg(encoded, window, channels=3)
    image = tf.image.resize(image, (options.image_size, options.image_size))
    image = tf.image.random_flip_left_right(image, options.seed)
    return image, tf.cast(found["image/class/label"] - 1, tf.int32)


def _normal(pixels, layout):
    normal = (pixels - tf.constant(CHANNEL_MEAN)) / tf.constant(CHANNEL_DEVIATION)
    return normal if layout == "NHWC" else tf.transpose(normal, (0, 3, 1, 2))
