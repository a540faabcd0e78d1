"""The lines that trainers print.

``[scalebench] <kind> {json}`` states facts about a job. Each iteration is one line, in our own form
or in that of a published trainer. This file needs nothing else of the package.
"""

from __future__ import annotations

import json
import sys
from time import gmtime, strftime

MARK = "[scalebench]"
FORMAT = 1
ERROR_KINDS = ("nan_loss", "weights_differ", "bad_data", "no_device", "wrong_result")


class StoppedError(Exception):
    """A run cannot continue; `kind` is one of :data:`ERROR_KINDS`."""

    def __init__(self, kind, detail):
        super().__init__(detail)
        self.kind = kind


class BadDataError(StoppedError):
    """A file of the data set cannot be read."""

    def __init__(self, detail):
        super().__init__("bad_data", detail)


def put(line):
    """Print a line at once, so that other ranks' lines stand before or after it.

    Torchrun has Python write every text immediately, and ``print`` gives it the end of the line
    apart.
    """
    sys.stdout.write(f"{line}\n")


def header_line(facts):
    """Return the line that states what is being trained.

    :param facts: a dict of JSON values: model, framework, world_size, batch_size_per_device ...
    """
    return _fact_line("header", {"format": FORMAT, **facts})


def measured_line(kind, facts):
    """Return the line that states figures of a node or a pair of nodes."""
    return _fact_line(kind, facts)


def rank_line(rank, local_rank, node, host, pid):
    """Return the line that states where one rank runs.

    :param node: the node's name in the inventory.
    :param host: its host name.
    """
    return _fact_line(
        "rank", {"rank": rank, "local_rank": local_rank, "node": node, "host": host, "pid": pid}
    )


def end_line(iterations, seconds, peak_memory_mib, weights_checksum, weights_equal, figures=None):
    """Return the last line of a run that completed all its iterations.

    :param seconds: wall time of all iterations, warm-up included.
    :param peak_memory_mib: the largest of all ranks: device memory on a GPU, else resident memory;
        None where it is not known.
    :param weights_checksum: of rank 0's weights.
    :param weights_equal: whether all ranks hold the same weights.
    :param figures: what the trainer measured itself, of :mod:`common.figures`.
    """
    facts = {
        "iterations": iterations,
        "seconds": round(seconds, 3),
        **({} if peak_memory_mib is None else {"peak_memory_mib": round(peak_memory_mib, 1)}),
        "weights_checksum": weights_checksum,
        "weights_equal": weights_equal,
    }
    return _fact_line("end", {**facts, "figures": figures} if figures else facts)


def waiting_line(rank, steps, wait_seconds):
    """Return the line that a rank prints at times, on its own node.

    :param steps: that it has done.
    :param wait_seconds: of one of the last ones at the exchange of gradients, on average.
    """
    return _fact_line(
        "waiting", {"rank": rank, "steps": steps, "wait_seconds": round(wait_seconds, 6)}
    )


def waits_line(rank, node, every, wait_seconds, step_seconds, **known):
    """Return the line on one rank, of which the first rank prints one for each before the end line.

    :param node: the node's name in the inventory.
    :param every: how many steps a value of `wait_seconds` is the mean of; the last is of the rest.
    :param wait_seconds: of a step at the exchange of gradients.
    :param step_seconds: the median of all steps.
    :param known: on average of a step: core_wait_seconds, in which the rank is ready to run and has
        no core; input_seconds, in which it waits for its batch.
    """
    facts = {
        "rank": rank,
        "node": node,
        "every": every,
        "wait_seconds": wait_seconds,
        "step_seconds": step_seconds,
    }
    return _fact_line("waits", {**facts, **known})


def error_line(kind, detail, rank):
    """Return the line that states why `rank` stops before the end.

    :raises ValueError: if `kind` is not one of :data:`ERROR_KINDS`.
    """
    if kind not in ERROR_KINDS:
        raise ValueError(f"unknown kind of error {kind!r}; known: {', '.join(ERROR_KINDS)}")
    return _fact_line("error", {"kind": kind, "detail": detail, "rank": rank})


def _fact_line(kind, facts):
    return f"{MARK} {kind} {json.dumps(facts, separators=(',', ':'), ensure_ascii=True)}"


# The forms of an iteration's line. All take the same keyword arguments and ignore those that their
# form does not state:
#   number   of the iteration, warm-up included
#   epoch    passes over the data set completed before it (0 for synthetic data)
#   batch    its number in the epoch, from 0
#   samples  in the global batch
#   seconds  wall time since the previous iteration ended
#   time     seconds since 1970 at the end of the iteration; dates are printed in UTC
#   rate     the learning rate
#   loss     the mean over the global batch
# and what the model reports besides, such as top1, the share of images whose label came first.


def iteration_line(number, *, epoch, loss, samples, seconds, time, unit="images", **_):
    """Return our own form.

    :param unit: what a sample is, in the plural.
    """
    throughput = samples / seconds
    # A large model on CPUs needs minutes for a sample.
    places = 2 if throughput >= 1 else 6
    return (
        f"iteration {number} epoch {epoch} loss {loss:.6f} throughput {throughput:.{places}f}"
        f" {unit}/s step_time {seconds:.6f} s time {time:.6f}"
    )


def dllogger_line(number, *, epoch, loss, cross_entropy, l2, rate, samples, seconds, time, **_):
    """Return the form of NVIDIA's TensorFlow ResNet-50, which counts from 0 over all epochs.

    As the training hook of NVIDIA/DeepLearningExamples, TensorFlow/Classification/ConvNets, prints
    it through DLLogger. The hook omits the first 20 steps.

    :param cross_entropy: the loss without `l2`, the part that weight decay adds.
    """
    return (
        f"DLL {_utc(time, '.', 6)} - ({epoch}, {number}) imgs_per_sec : {samples / seconds:.4f} "
        f"cross_entropy : {cross_entropy:.6f} l2_loss : {l2:.6f} "
        f"total_loss : {loss:.6f} learning_rate : {rate:.6g} "
    )


def speedometer_line(*, epoch, batch, loss, rate, samples, seconds, time, **_):
    """Return the form of MXNet's Speedometer as NVIDIA's trainer prints it, for one batch.

    Published logs have one line for every 20 batches.
    """
    return (
        f"{_utc(time, ',', 3)}:INFO: Epoch[{epoch}] Batch [{batch}-{batch}]\t"
        f"Speed: {samples / seconds:.4f} samples/sec\tLR: {rate:.8g}\tloss={loss:.6f}"
    )


def paddle_line(number, *, epoch, loss, top1, top5, rate, seconds, time, **_):
    """Return the form of Paddle 1.8's image classification, which counts from 0 over all epochs.

    As PaddlePaddle/models, release 1.8, PaddleCV/image_classification prints it.
    """
    return (
        f"{_utc(time, ',', 3)}-INFO: [Pass {epoch}, train batch {number}] \tloss {loss:.5f}, "
        f"acc1 {top1:.5f}, acc5 {top5:.5f}, lr {rate:.5f}, elapse {seconds:.4f} sec"
    )


def oneflow_line(number, *, epoch, loss, top1, top5, samples, seconds, time, **_):
    """Return the form of OneFlow-Benchmark's classification.

    As the reference report and later issues of Oneflow-Inc/OneFlow-Benchmark show it.
    """
    return (
        f"train: epoch {epoch}, iter {number}, loss: {loss:.6f}, top_1: {top1:.6f}, "
        f"top_k: {top5:.6f}, samples/s: {samples / seconds:.3f} {time:.6f}"
    )


def _utc(time, point, digits):
    """Return date and time of day with so many decimals of a second."""
    whole, part = divmod(int(time * 10**digits), 10**digits)
    return strftime("%Y-%m-%d %H:%M:%S", gmtime(whole)) + f"{point}{part:0{digits}d}"
