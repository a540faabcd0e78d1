"""Train ResNet-50 with MXNet on this rank and print what each iteration took."""

from __future__ import annotations

import math
import time

import host_facts
import mxnet as mx
import mxnet_feed
import mxnet_records
import mxnet_settings
from mxnet_ranks import gather, join
from mxnet_resnet50 import parameter_count, resnet50, trained
from mxnet_step import Step, compute_in
from report_lines import StoppedError
from speedometer_lines import speedometer_line
from training_rules import header_facts, learning_rate
from whole_job import begin_job, checksum, end_job

MIB = 1 << 20


def train(options, images):
    """Do all iterations of this rank.

    :param images: `(path, label)` of real data.
    :raises StoppedError: on a loss that is no number, or ranks whose weights differ.
    """
    ranks = join()
    place = ranks.place
    settings = mxnet_settings.choose(options, place)
    if not settings.on_gpu:
        host_facts.keep_freed_memory()
    compute_in(settings.autocast)
    mx.random.seed(options.seed)
    model = resnet50(settings.layout)
    model.cast(settings.dtype)
    model.initialize(ctx=settings.device)
    model.hybridize(static_alloc=True, static_shape=True)
    announce(options, ranks, settings, model)
    rate = learning_rate(options, place.world_size)
    step = Step(model, ranks, settings, rate, options.batch_size)
    feed = make_feed(images, options, settings, place)
    seconds = run(options, ranks, step, feed, rate)
    weights = checksum(weight.data().asnumpy() for weight in trained(model))
    ends = gather(ranks, (weights, peak_memory(settings.device)))
    end_job(place, options.warmup + options.iterations, seconds, ends)


def make_feed(images, options, settings, place):
    """Return this rank's batches, as :mod:`mxnet_feed` describes them."""
    if options.data == "synthetic":
        return mxnet_feed.synthetic(options, settings, place)
    if options.data_backend == "native":
        return mxnet_feed.folder(images, options, settings, place)
    if options.data_backend == "recordio":
        return mxnet_records.records(options, settings, place)
    from mxnet_dali import records  # noqa: PLC0415 (DALI need not be there)

    return records(options, settings, place)


def announce(options, ranks, settings, model):
    """Print the header and one line for each rank."""
    place = ranks.place
    header = {
        **header_facts(options, place),
        "framework": "mxnet",
        "framework_version": mx.__version__,
        "parameters": parameter_count(model),
        "backend": ranks.backend,
        "device": "gpu" if settings.on_gpu else "cpu",
        "device_name": host_facts.processor_name() if not settings.on_gpu else None,
        "autocast_dtype": settings.autocast,
        "layout": settings.layout,
        "data_backend": options.data_backend,
        "zero_init_residual": True,
    }
    begin_job(place, header, gather(ranks, place.facts()))


def run(options, ranks, step, feed, rate):
    """Do warm-up and measured iterations, print each; return their wall time in seconds.

    Published runs print the speed of the whole job on every rank; one is enough.

    :raises StoppedError: on a loss that is no number; all ranks see the same mean.
    """
    place = ranks.place
    samples = options.batch_size * place.world_size
    total = options.warmup + options.iterations
    following = next(feed)
    gather(ranks, "ready")
    begin = before = time.perf_counter()
    for number in range(1, total + 1):
        epoch, batch, images, labels = following
        loss_on_device = step(images, labels)
        if number < total:
            following = next(feed)  # while the engine still computes
        loss = loss_on_device.asscalar()
        mx.nd.waitall()
        now = time.perf_counter()
        if place.rank == 0:
            print(
                speedometer_line(
                    batch,
                    epoch=epoch,
                    loss=loss,
                    samples=samples,
                    seconds=now - before,
                    rate=rate,
                    moment=time.time(),
                )
            )
        if not math.isfinite(loss):
            raise StoppedError("nan_loss", f"the loss of iteration {number} is {loss}")
        before = now
    return before - begin


def peak_memory(device):
    """Return MiB: what is taken of a GPU, whose pool MXNet never shrinks, else peak resident."""
    if device.device_type != "gpu":
        return host_facts.peak_resident_mib()
    free, whole = mx.context.gpu_memory_info(device.device_id)
    return (whole - free) / MIB
