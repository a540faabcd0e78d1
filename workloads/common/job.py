"""One rank's run from the header to the exit status. The first rank prints for the whole job."""

from __future__ import annotations

import hashlib
import math
import platform
import time
import traceback

from common import report_lines
from common.report_lines import StoppedError

CHECKSUM_DIGITS = 16


def run_rank(train, rank):
    """Call `train` and return the exit status; print the reason where it is not 0.

    :param train: does all iterations of this rank.
    :param rank: this rank, for the error line.
    """
    try:
        train()
    except StoppedError as error:
        report_lines.put(report_lines.error_line(error.kind, str(error), rank))
        return 1
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def job_facts(options, place):
    """Return what every header states, whatever the model and the framework.

    :param options: of ``options.trainer_parser`` and the trainer's own ``precision``.
    :param place: a ``ranks.Place``.
    """
    return {
        "python": platform.python_version(),
        "world_size": place.world_size,
        "nodes": place.nodes,
        "devices_per_node": place.local_size,
        "precision": options.precision,
        "batch_size_per_device": options.batch_size,
        "global_batch_size": options.batch_size * place.world_size,
        "data": options.data,
        "warmup": options.warmup,
        "iterations": options.iterations,
        "threads_per_rank": options.threads,
        "seed": options.seed,
    }


def begin_job(place, header, ranks):
    """Print the header and one line for each rank.

    :param ranks: every rank's ``Place.facts()``, by rank.
    """
    if place.rank == 0:
        report_lines.put(report_lines.header_line(header))
        for rank in ranks:
            report_lines.put(report_lines.rank_line(**rank))


def run_iterations(
    options,
    place,
    feed,
    step,
    *,
    line,
    rate,
    first=1,
    wait_for_ranks=None,
    evaluation=None,
    waits=None,
):
    """Do the warm-up and the measured iterations, print each, and evaluate after each epoch.

    :param feed: yields `(epoch, batch, *inputs)`: the epochs completed before, and the number of
        the batch in its epoch, from 0.
    :param step: called with the inputs, starts an iteration and returns its result, which may still
        be on the device. ``step.values(result)`` waits for the device and returns a dict: ``loss``,
        the mean over the global batch, and what else `line` states.
    :param line: the form of an iteration's line, from :mod:`common.report_lines`.
    :param rate: the learning rate; an evaluation sets its own by ``step.set_rate``.
    :param first: the number of the first iteration in the lines; those that count from 0 call it a
        step.
    :param wait_for_ranks: called before the clock starts.
    :param evaluation: a ``target_training.EpochEvaluation``.
    :param waits: a ``waits.Waits``, of a framework that can measure them.
    :returns: how many iterations were done, and the wall time of all this in seconds.
    :raises StoppedError: if the loss is not finite; all ranks see the same mean.
    """
    samples = options.batch_size * place.world_size
    total = options.warmup + options.iterations
    take = next if waits is None else waits.take
    prepared = next(feed)
    if wait_for_ranks is not None:
        wait_for_ranks()
    begin = before = time.perf_counter()
    for done in range(1, total + 1):
        epoch, batch, *inputs = prepared
        if evaluation is not None:
            rate = evaluation.rate(done)
            step.set_rate(rate)
        result = step(*inputs)
        if done < total:
            prepared = take(feed)  # while the device still computes
        values = step.values(result)
        now = time.perf_counter()
        number = first + done - 1
        if place.rank == 0:
            report_lines.put(
                line(
                    number=number,
                    epoch=epoch,
                    batch=batch,
                    samples=samples,
                    seconds=now - before,
                    time=time.time(),
                    rate=rate,
                    **values,
                )
            )
        if not math.isfinite(values["loss"]):
            name = "iteration" if first else "step"
            raise StoppedError("nan_loss", f"the loss of {name} {number} is {values['loss']}")
        before = now
        if evaluation is not None and evaluation.is_due(done):
            if evaluation():
                break
            before = time.perf_counter()
    return done, time.perf_counter() - begin


def end_job(place, iterations, seconds, ends, figures=None, waits=()):
    """Compare the weights of all ranks and print the last line, and before it those on waits.

    :param seconds: wall time of all iterations, warm-up included.
    :param ends: every rank's `(checksum of its weights, peak memory in MiB)`, by rank; None for a
        memory that is not known.
    :param figures: what the first rank measured itself, of :mod:`common.figures`.
    :param waits: every rank's ``Waits.facts()``, by rank; None of one that has none.
    :raises StoppedError: if the weights differ.
    """
    checksums = [weights for weights, _ in ends]
    equal = len(set(checksums)) == 1
    if place.rank == 0:
        for wait in filter(None, waits):
            report_lines.put(report_lines.waits_line(**wait))
        peak = max((memory for _, memory in ends if memory is not None), default=None)
        report_lines.put(
            report_lines.end_line(iterations, seconds, peak, checksums[0], equal, figures)
        )
    if not equal:
        raise StoppedError("weights_differ", f"weights by rank: {', '.join(checksums)}")


def checksum(weights):
    """Return the first digits of SHA-256 over all weights.

    :param weights: objects that hold bytes, as NumPy arrays in C order do; in the same order on
        every rank.
    """
    digest = hashlib.sha256()
    for weight in weights:
        digest.update(weight)
    return digest.hexdigest()[:CHECKSUM_DIGITS]
