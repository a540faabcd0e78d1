"""DALI's part of reading images: decode, crop, mirror and normalise, on a GPU or a CPU."""

from __future__ import annotations

from resnet50.images import CHANNEL_DEVIATION, CHANNEL_MEAN


def build_pipeline(read, options, place, layout, gpu=None):
    """Return a pipeline of normalised images and their labels.

    The crop is that of ``images.random_crop``, drawn by DALI.

    :param read: called with ``nvidia.dali.fn``, returns encoded images and labels.
    :param options: batch_size, image_size, workers, seed.
    :param layout: ``HWC`` or ``CHW``.
    :param gpu: index of the GPU that decodes; None for a CPU.
    """
    from nvidia.dali import Pipeline, fn, types  # noqa: PLC0415 (only these readers need DALI)

    pipeline = Pipeline(
        batch_size=options.batch_size,
        num_threads=max(1, options.workers),
        seed=options.seed + place.rank,
        device_id=gpu,
    )
    with pipeline:
        encoded, labels = read(fn)
        images = fn.decoders.image_random_crop(
            encoded,
            device="cpu" if gpu is None else "mixed",
            random_area=[0.08, 1.0],
            random_aspect_ratio=[3 / 4, 4 / 3],
            num_attempts=10,
        )
        size = options.image_size
        images = fn.resize(images, resize_x=size, resize_y=size, interp_type=types.INTERP_LINEAR)
        normal = fn.crop_mirror_normalize(
            images,
            mean=list(CHANNEL_MEAN),
            std=list(CHANNEL_DEVIATION),
            output_layout=layout,
            mirror=fn.random.coin_flip(),
        )
        pipeline.set_outputs(normal, labels if gpu is None else labels.gpu())
    pipeline.build()
    return pipeline


def cause(error):
    """Return the line of DALI's message with the cause, which follows the operator's place."""
    return (str(error).partition("encountered:")[2] or str(error)).strip().partition("\n")[0]
