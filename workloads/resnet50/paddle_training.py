"""Train ResNet-50 with Paddle on this rank and print what each step took."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator

import host_facts
import numpy
import paddle
from image_batches import image_batches
from paddle import Tensor
from paddle_loop import run
from paddle_ranks import end_with_launcher, gather, join, meet, place_of
from paddle_resnet50 import ResNet50
from paddle_step import Step
from rank_place import Place
from report_lines import StoppedError
from resnet50_layers import CLASSES
from training_rules import CHANNEL_DEVIATION, CHANNEL_MEAN, header_facts, learning_rate
from whole_job import begin_job, checksum, end_job

MIB = 1 << 20
Batch = tuple[int, Tensor, Tensor]  # epoch, images, labels (N)


def train(options: Namespace, images: list[tuple[str, int]]) -> None:
    """Do all iterations of this rank.

    :param images: `(path, label)` of real data.
    :raises StoppedError: on a loss that is no number, or ranks whose weights differ.
    """
    end_with_launcher()
    place = place_of(os.environ)
    on_gpu = choose_device(options, place)
    backend = join(place)
    paddle.seed(options.seed)
    layout = "NHWC" if options.precision == "amp" else "NCHW"  # tensor cores compute in NHWC
    model = ResNet50(layout)
    model.train()
    facts = {"backend": backend, "device": "gpu" if on_gpu else "cpu", "layout": layout}
    # Paddle counts the running statistics of a rank's own batches among the parameters.
    weights = [weight for weight in model.parameters() if weight.trainable]
    facts["parameters"] = sum(weight.size for weight in weights)
    announce(options, place, facts)
    feed = make_feed(options, images, place, layout)
    rate = learning_rate(options, place.world_size)
    step = Step(model, place, rate, options.precision == "amp", on_gpu)
    meet(place)
    settle = paddle.device.synchronize if on_gpu else lambda: None
    seconds = run(options, place, step, feed, rate, settle)
    mine = checksum(weight.numpy() for weight in weights), peak_memory(on_gpu)
    ends = gather(place, mine)
    end_job(place, options.warmup + options.iterations, seconds, ends)
    meet(place)


def choose_device(options: Namespace, place: Place) -> bool:
    """Set this rank's device; return whether it is a GPU.

    :raises StoppedError: if GPUs are wanted and this node has too few that Paddle can use, or for
        amp without one: Paddle does not autocast on a CPU, it warns and computes in fp32.
    """
    compiled = paddle.device.is_compiled_with_cuda()
    found = paddle.device.cuda.device_count() if options.device != "cpu" and compiled else 0
    if options.device == "cpu" or (options.device == "auto" and not found):
        if options.precision == "amp":
            raise StoppedError("no_device", "Paddle's automatic mixed precision needs a GPU")
        paddle.set_device("cpu")
        return False
    if place.local_rank >= found:
        hint = (
            "" if compiled else "; it is built for CPUs: name a build for GPUs (framework_python)"
        )
        raise StoppedError(
            "no_device",
            f"this node has {place.local_size} ranks and {found} GPUs that Paddle "
            f"{paddle.__version__} can use{hint}",
        )
    paddle.set_device(f"gpu:{paddle.distributed.ParallelEnv().device_id}")
    return True


def announce(options: Namespace, place: Place, facts: dict) -> None:
    """Print the header, with `facts` in it, and one line for each rank."""
    on_gpu = facts["device"] == "gpu"
    device = paddle.device.cuda.get_device_name() if on_gpu else host_facts.processor_name()
    header = {
        **header_facts(options, place),
        "framework": "paddle",
        "framework_version": paddle.__version__,
        "device_name": device,
        "autocast_dtype": "float16" if options.precision == "amp" else None,
        "zero_init_residual": True,
    }
    begin_job(place, {**header, **facts}, gather(place, place.facts()))


def make_feed(
    options: Namespace, images: list[tuple[str, int]], place: Place, layout: str
) -> Iterator[Batch]:
    """Give this rank's batches for ever: one random batch again and again, or images of a folder.

    :raises BadDataError: naming the file that cannot be read.
    """
    size = options.image_size
    if options.data == "synthetic":
        chance = numpy.random.default_rng(options.seed + place.rank)
        shape = (3, size, size) if layout == "NCHW" else (size, size, 3)
        pixels = chance.standard_normal((options.batch_size, *shape), numpy.float32)
        labels = chance.integers(CLASSES, size=options.batch_size)
        batch = paddle.to_tensor(pixels), paddle.to_tensor(labels)
        while True:
            yield 0, *batch
    mean, deviation = paddle.to_tensor(CHANNEL_MEAN), paddle.to_tensor(CHANNEL_DEVIATION)
    for epoch, _, pixels, labels in image_batches(images, options, place):
        whole = numpy.frombuffer(pixels, numpy.uint8).reshape(-1, size, size, 3)
        normal = (paddle.to_tensor(whole).astype("float32") - mean) / deviation
        yield (
            epoch,
            normal.transpose((0, 3, 1, 2)) if layout == "NCHW" else normal,
            paddle.to_tensor(labels),
        )


def peak_memory(on_gpu: bool) -> float:
    """Return this rank's peak in MiB: allocated on a GPU, else resident memory."""
    if on_gpu:
        return paddle.device.cuda.max_memory_allocated() / MIB
    return host_facts.peak_resident_mib()
