"""Batches for the MXNet trainer: one random batch over and over, images from a folder, RecordIO.

Each is `(epoch, batch, images, labels)`, the batch numbered from 0 in its epoch. The crop of
records is that of ``images.random_crop``, drawn by the reader's own operators.
"""

from __future__ import annotations

import itertools

import mxnet as mx
import numpy as np

from common.report_lines import BadDataError
from resnet50 import dali_reader
from resnet50.images import CHANNEL_DEVIATION, CHANNEL_MEAN, image_batches
from resnet50.layers import CLASSES


def make_feed(images, options, settings, place):
    """Return this rank's batches.

    :param images: `(path, label)` of all images in folders.
    """
    if options.data == "synthetic":
        return synthetic(options, settings, place)
    if options.data_backend == "native":
        return from_folder(images, options, settings, place)
    if options.data_backend == "recordio":
        return from_records(options, settings, place)
    return from_records_by_dali(options, settings, place)


def synthetic(options, settings, place):
    """Make one batch on the device and yield it without end."""
    chance = np.random.RandomState(options.seed + place.rank)
    shape = {"N": options.batch_size, "C": 3, "H": options.image_size, "W": options.image_size}
    images = chance.standard_normal([shape[axis] for axis in settings.layout])
    images = mx.nd.array(images, settings.device, settings.dtype)
    labels = mx.nd.array(chance.randint(CLASSES, size=options.batch_size), settings.device)
    for batch in itertools.count():
        yield 0, batch, images, labels


def from_folder(images, options, settings, place):
    """Yield this rank's share of the images, shuffled anew each epoch, without end.

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


def from_records(options, settings, place):
    """Yield this rank's share of RecordIO, read by MXNet, shuffled anew each epoch, without end.

    :raises BadDataError: naming what cannot be read, or a share that does not fill a batch.
    """
    folder = options.data_dir / "recordio"
    try:
        reader = _record_iterator(folder, options, place)
    except mx.base.MXNetError as error:
        raise BadDataError(f"{folder}: {str(error).splitlines()[-1]}") from None
    for epoch in itertools.count():
        batch = -1
        # The last batch of a share is filled up with images of its beginning.
        for batch, read in enumerate(whole for whole in reader if not whole.pad):
            images = read.data[0].as_in_context(settings.device)
            if settings.layout == "NHWC":
                images = images.transpose((0, 2, 3, 1))
            labels = read.label[0].as_in_context(settings.device)
            yield epoch, batch, images.astype(settings.dtype), labels
        if batch < 0:
            raise BadDataError(
                f"rank {place.rank}'s share of {folder} does not fill a batch of "
                f"{options.batch_size}"
            )
        reader.reset()


def _record_iterator(folder, options, place):
    channels = ("r", "g", "b")
    normal = {f"mean_{name}": value for name, value in zip(channels, CHANNEL_MEAN)}
    normal.update({f"std_{name}": value for name, value in zip(channels, CHANNEL_DEVIATION)})
    return mx.io.ImageRecordIter(
        path_imgrec=str(folder / "train.rec"),
        path_imgidx=str(folder / "train.idx"),
        data_shape=(3, options.image_size, options.image_size),
        batch_size=options.batch_size,
        num_parts=place.world_size,
        part_index=place.rank,
        preprocess_threads=max(1, options.workers),
        shuffle=True,
        seed=options.seed,
        random_resized_crop=True,
        min_random_area=0.08,
        max_random_area=1.0,
        min_aspect_ratio=3 / 4,
        max_aspect_ratio=4 / 3,
        rand_mirror=True,
        verbose=False,
        **normal,
    )


def from_records_by_dali(options, settings, place):
    """Yield this rank's share of RecordIO, read and augmented by DALI on the CPU, without end.

    A batch may reach into the next epoch: DALI continues without a gap.

    :raises BadDataError: naming the folder, if DALI cannot read it.
    """
    folder = options.data_dir / "recordio"

    def read(fn):
        return fn.readers.mxnet(
            path=[str(folder / "train.rec")],
            index_path=[str(folder / "train.idx")],
            random_shuffle=True,
            shard_id=place.rank,
            num_shards=place.world_size,
            name="reader",
        )

    try:
        pipeline = dali_reader.build_pipeline(read, options, place, settings.layout[1:])
        share = pipeline.reader_meta("reader")["epoch_size"] // place.world_size
        for epoch, batch in _numbered(share, options.batch_size):
            images, labels = pipeline.run()
            yield (
                epoch,
                batch,
                mx.nd.array(images.as_array(), settings.device, settings.dtype),
                mx.nd.array(labels.as_array().reshape(-1), settings.device),
            )
    except RuntimeError as error:
        raise BadDataError(f"{folder}: {dali_reader.cause(error)}") from None


def _numbered(share, batch_size):
    """Number the batches without end, in epochs of `share` images."""
    before, first = 0, 0
    for count in itertools.count():
        epoch = count * batch_size // share
        if epoch > before:
            before, first = epoch, count
        yield epoch, count - first
