"""Batches for the MXNet trainer from RecordIO, read, decoded and augmented by DALI on the CPU.

The crop is the folders' (``image_folder.random_crop``), drawn by DALI's own operators.
"""

from __future__ import annotations

import itertools

import mxnet as mx
from nvidia.dali import fn, pipeline_def, types
from report_lines import BadDataError
from training_rules import CHANNEL_DEVIATION, CHANNEL_MEAN


def records(options, settings, place):
    """Give this rank's share of the images, shuffled anew each epoch, for ever.

    Each is `(epoch, batch, images, labels)`, the batch counted from 0 in its epoch. A batch may
    reach into the next epoch: DALI goes on without a gap.

    :raises BadDataError: naming the folder, if DALI cannot read it.
    """
    folder = options.data_dir / "recordio"
    pipeline = _pipeline(
        folder,
        options.image_size,
        settings.layout,
        place,
        batch_size=options.batch_size,
        num_threads=max(1, options.workers),
        seed=options.seed + place.rank,
        device_id=None,  # a CPU; cropping itself needs no GPU
    )
    try:
        pipeline.build()
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
        raise BadDataError(f"{folder}: {_cause(str(error))}") from None


def _numbered(share, batch_size):
    """Number the batches for ever, in epochs of `share` images."""
    before, first = 0, 0
    for count in itertools.count():
        epoch = count * batch_size // share
        if epoch > before:
            before, first = epoch, count
        yield epoch, count - first


def _cause(text):
    """Return the line of DALI's message that says what is wrong, behind where that was."""
    return (text.partition("encountered:")[2] or text).strip().partition("\n")[0]


@pipeline_def
def _pipeline(folder, size, layout, place):
    encoded, labels = fn.readers.mxnet(
        path=[str(folder / "train.rec")],
        index_path=[str(folder / "train.idx")],
        random_shuffle=True,
        shard_id=place.rank,
        num_shards=place.world_size,
        name="reader",
    )
    images = fn.decoders.image_random_crop(
        encoded, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=10
    )
    images = fn.resize(images, resize_x=size, resize_y=size, interp_type=types.INTERP_LINEAR)
    normal = fn.crop_mirror_normalize(
        images,
        mean=list(CHANNEL_MEAN),
        std=list(CHANNEL_DEVIATION),
        output_layout=layout[1:],
        mirror=fn.random.coin_flip(),
    )
    return normal, labels
