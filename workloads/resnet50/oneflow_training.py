"""Train ResNet-50 with OneFlow on this rank and print what each iteration took."""

from __future__ import annotations

import math
import time

import host_facts
import numpy as np
import oneflow as flow
from image_batches import image_batches
from oneflow_lines import iteration_line
from oneflow_ranks import all_devices, end_with_launcher, find_place, gather
from oneflow_resnet50 import ResNet50
from oneflow_step import Step
from report_lines import StoppedError
from resnet50_layers import CLASSES
from training_rules import CHANNEL_DEVIATION, CHANNEL_MEAN, header_facts, learning_rate
from whole_job import begin_job, checksum, end_job


def train(options, images):
    """Do all iterations of this rank.

    :param images: `(path, label)` of real data.
    :raises StoppedError: on a loss that is no number, or ranks whose weights differ.
    """
    end_with_launcher()
    place = find_place()
    kind = device_kind(options, place)
    devices = all_devices(kind)
    flow.manual_seed(options.seed)
    model = ResNet50().train().to_global(devices, flow.sbp.broadcast)
    announce(options, place, kind, model)
    feed = make_feed(options, images, place, devices)
    rate = learning_rate(options, place.world_size)
    seconds = run(options, place, Step(model, rate, options.precision == "amp"), feed)
    weights = checksum(weight.to_local().numpy() for weight in model.parameters())
    ends = gather((weights, host_facts.peak_resident_mib()))
    end_job(place, options.warmup + options.iterations, seconds, ends)


def device_kind(options, place):
    """Return `cuda` or `cpu`.

    :raises StoppedError: if GPUs are wanted and this node has too few that OneFlow can use, or for
        amp without one: OneFlow has no kernels for it on a CPU and computes in fp32.
    """
    found = flow.cuda.device_count() if options.device != "cpu" and flow.cuda.is_available() else 0
    if options.device == "cpu" or (options.device == "auto" and not found):
        if options.precision == "amp":
            raise StoppedError("no_device", "OneFlow's automatic mixed precision needs a GPU")
        return "cpu"
    if place.local_rank >= found:
        raise StoppedError(
            "no_device",
            f"this node has {place.local_size} ranks and {found} GPUs that OneFlow "
            f"{flow.__version__} can use",
        )
    return "cuda"


def announce(options, place, kind, model):
    """Print the header and one line for each rank."""
    header = {
        **header_facts(options, place),
        "framework": "oneflow",
        "framework_version": flow.__version__,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "backend": None if place.world_size == 1 else "nccl" if kind == "cuda" else "oneflow",
        "device": "gpu" if kind == "cuda" else "cpu",
        "device_name": host_facts.processor_name() if kind == "cpu" else None,
        "autocast_dtype": "float16" if options.precision == "amp" else None,
        "zero_init_residual": True,
    }
    begin_job(place, header, gather(place.facts()))


def make_feed(options, images, place, devices):
    """Give the job's batches for ever, of which this rank brings its share: `(epoch, x, labels)`.

    :raises BadDataError: naming the file that cannot be read.
    """

    def shared(array):
        return flow.tensor(array).to_global(devices, flow.sbp.split(0))

    size = options.image_size
    if options.data == "synthetic":
        chance = np.random.default_rng(options.seed + place.rank)
        pixels = chance.standard_normal((options.batch_size, 3, size, size), np.float32)
        labels = chance.integers(CLASSES, size=options.batch_size, dtype=np.int32)
        batch = shared(pixels), shared(labels)
        while True:
            yield (0, *batch)
    mean, deviation = np.float32(CHANNEL_MEAN), np.float32(CHANNEL_DEVIATION)
    for epoch, _, pixels, labels in image_batches(images, options, place):
        whole = np.frombuffer(pixels, np.uint8).reshape(-1, size, size, 3)
        normal = ((whole - mean) / deviation).transpose(0, 3, 1, 2)
        yield epoch, shared(np.ascontiguousarray(normal)), shared(np.array(labels, np.int32))


def run(options, place, step, feed):
    """Do warm-up and measured iterations, print each; return their wall time in seconds.

    :raises StoppedError: on a loss that is no number; all ranks see the same mean.
    """
    samples = options.batch_size * place.world_size
    batch = next(feed)
    begin = before = time.perf_counter()
    for number in range(1, options.warmup + options.iterations + 1):
        epoch, images, labels = batch
        means = step(images, labels)
        batch = next(feed)  # while the graph still runs
        loss, top1, top5 = means.to_local().numpy().tolist()
        now = time.perf_counter()
        if place.rank == 0:
            print(
                iteration_line(
                    number,
                    epoch=epoch,
                    loss=loss,
                    top1=top1,
                    top5=top5,
                    samples=samples,
                    seconds=now - before,
                    now=time.time(),
                )
            )
        if not math.isfinite(loss):
            raise StoppedError("nan_loss", f"the loss of iteration {number} is {loss}")
        before = now
    return before - begin
