"""Train ResNet-50 with Paddle on this rank and print what each step took."""

from __future__ import annotations

import hashlib
import math
import os
import time
from argparse import Namespace
from collections.abc import Iterator

import host_facts
import numpy
import paddle
import report_lines
from folder_batches import folder_batches
from paddle import Tensor, nn
from paddle_lines import step_line
from paddle_ranks import end_with_launcher, gather, join, meet, place_of
from paddle_resnet50 import ResNet50
from paddle_step import Step
from rank_place import Place
from report_lines import StoppedError
from resnet50_layers import CLASSES
from training_rules import CHANNEL_DEVIATION, CHANNEL_MEAN, header_facts, learning_rate

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
    announce(options, place, model, facts)
    feed = make_feed(options, images, place, layout)
    rate = learning_rate(options, place.world_size)
    step = Step(model, place, rate, options.precision == "amp", on_gpu)
    seconds = run(options, place, step, feed, rate)
    finish(options, place, model, seconds, on_gpu)
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
        built = "with" if compiled else "without"
        raise StoppedError(
            "no_device",
            f"this node has {place.local_size} ranks and {found} GPUs that Paddle "
            f"{paddle.__version__}, built {built} CUDA, can use",
        )
    paddle.set_device(f"gpu:{paddle.distributed.ParallelEnv().device_id}")
    return True


def announce(options: Namespace, place: Place, model: nn.Layer, facts: dict) -> None:
    """Print the header, with `facts` in it, and one line for each rank."""
    ranks = gather(place, place.facts())
    if place.rank != 0:
        return
    on_gpu = facts["device"] == "gpu"
    header = {
        **header_facts(options, place),
        "framework": "paddle",
        "framework_version": paddle.__version__,
        "device_name": paddle.device.cuda.get_device_name()
        if on_gpu
        else host_facts.processor_name(),
        "autocast_dtype": "float16" if options.precision == "amp" else None,
        "zero_init_residual": True,
        "parameters": sum(weight.size for weight in model.parameters() if weight.trainable),
    }
    print(report_lines.header_line({**header, **facts}))
    for rank in ranks:
        print(report_lines.rank_line(**rank))


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
    for epoch, pixels, labels in folder_batches(images, options, place):
        whole = numpy.frombuffer(b"".join(pixels), numpy.uint8).reshape(-1, size, size, 3)
        normal = (paddle.to_tensor(whole).astype("float32") - mean) / deviation
        yield (
            epoch,
            normal.transpose((0, 3, 1, 2)) if layout == "NCHW" else normal,
            paddle.to_tensor(labels),
        )


def run(options: Namespace, place: Place, step: Step, feed: Iterator[Batch], rate: float) -> float:
    """Do warm-up and measured iterations, print each; return their wall time in seconds.

    :raises StoppedError: on a loss that is no number; all ranks see the same mean.
    """
    batch = next(feed)
    meet(place)
    begin = before = time.perf_counter()
    for number in range(options.warmup + options.iterations):
        epoch, images, labels = batch
        means_on_device = step(images, labels)
        batch = next(feed)  # while a GPU still computes
        loss, top1, top5 = means_on_device.tolist()
        if not images.place.is_cpu_place():
            paddle.device.synchronize()
        now = time.perf_counter()
        if place.rank == 0:
            print(
                step_line(
                    number,
                    epoch=epoch,
                    loss=loss,
                    top1=top1,
                    top5=top5,
                    rate=rate,
                    seconds=now - before,
                    now=time.time(),
                )
            )
        if not math.isfinite(loss):
            raise StoppedError("nan_loss", f"the loss of step {number} is {loss}")
        before = now
    return before - begin


def finish(options: Namespace, place: Place, model: nn.Layer, seconds: float, on_gpu: bool) -> None:
    """Compare the weights of all ranks and print the last line.

    :raises StoppedError: if they differ.
    """
    memory = (
        paddle.device.cuda.max_memory_allocated() / MIB
        if on_gpu
        else host_facts.peak_resident_mib()
    )
    ends = gather(place, (weights_checksum(model), memory))
    checksums = [checksum for checksum, _ in ends]
    equal = len(set(checksums)) == 1
    if place.rank == 0:
        print(
            report_lines.end_line(
                options.warmup + options.iterations,
                seconds,
                max(peak for _, peak in ends),
                weights_checksum=checksums[0],
                weights_equal=equal,
            )
        )
    if not equal:
        raise StoppedError("weights_differ", f"weights by rank: {', '.join(checksums)}")


def weights_checksum(model: nn.Layer) -> str:
    """Return the first 16 digits of SHA-256 over all trained parameters' bytes."""
    digest = hashlib.sha256()
    for weight in model.parameters():
        if weight.trainable:
            digest.update(weight.numpy().tobytes())
    return digest.hexdigest()[:16]
