"""Batches for the MXNet trainer from RecordIO, read, decoded and augmented by MXNet itself.

The crop is the folders' (``image_folder.random_crop``), drawn by MXNet's own iterator.
"""

from __future__ import annotations

import itertools

import mxnet as mx
from report_lines import BadDataError
from training_rules import CHANNEL_DEVIATION, CHANNEL_MEAN


def records(options, settings, place):
    """Give this rank's share of the images, shuffled anew each epoch, for ever.

    Each is `(epoch, batch, images, labels)`, the batch counted from 0 in its epoch.

    :raises BadDataError: naming what cannot be read, or that a share does not fill a batch.
    """
    folder = options.data_dir / "recordio"
    try:
        reader = _reader(folder, options, place)
    except mx.base.MXNetError as error:
        raise BadDataError(f"{folder}: {str(error).splitlines()[-1]}") from None
    for epoch in itertools.count():
        batch = -1
        # The last batch of a share is filled up with images of its beginning.
        for batch, read in enumerate(one for one in reader if not one.pad):
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


def _reader(folder, options, place):
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
