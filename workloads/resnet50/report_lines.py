"""The lines every trainer of this folder prints, whatever its framework.

``[scalebench] <kind> {json}`` states facts; ``iteration N ...`` states one iteration.
Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import json

MARK = "[scalebench]"
FORMAT = 1
ERROR_KINDS = ("nan_loss", "weights_differ", "bad_data", "no_device")


class StoppedError(Exception):
    """A run cannot go on; `kind` is one of :data:`ERROR_KINDS`."""

    def __init__(self, kind, detail):
        super().__init__(detail)
        self.kind = kind


class BadDataError(StoppedError):
    """A file of the data set cannot be read."""

    def __init__(self, detail):
        super().__init__("bad_data", detail)


def header_line(facts):
    """Say what is about to be trained.

    :param facts: a dict of JSON values: model, framework, world_size, batch_size_per_device ...
    :returns: the line, without its end of line.
    """
    return _fact_line("header", {"format": FORMAT, **facts})


def rank_line(rank, local_rank, node, host, pid):
    """Say where one rank runs: `node` is its name in the inventory, `host` what it calls itself."""
    return _fact_line(
        "rank", {"rank": rank, "local_rank": local_rank, "node": node, "host": host, "pid": pid}
    )


def iteration_line(number, *, epoch, loss, samples, seconds, time, unit="images"):
    """State one iteration of the whole job.

    :param number: the iteration, counted from 1, warm-up included.
    :param epoch: passes over the data set finished before it (0 for synthetic data).
    :param loss: mean loss over the global batch.
    :param samples: how many the global batch has.
    :param seconds: wall time since the iteration before ended.
    :param time: seconds since 1970 at the end of the iteration.
    :param unit: what a sample is, in the plural.
    """
    return (
        f"iteration {number} epoch {epoch} loss {loss:.6f} "
        f"throughput {samples / seconds:.2f} {unit}/s step_time {seconds:.6f} s time {time:.6f}"
    )


def end_line(iterations, seconds, peak_memory_mib, weights_checksum, weights_equal, **more):
    """Close a run that did all its iterations.

    :param seconds: wall time of all iterations, warm-up included.
    :param peak_memory_mib: the largest of all ranks: device memory on a GPU, else resident memory.
    :param weights_checksum: of rank 0's weights.
    :param weights_equal: whether all ranks hold the same weights.
    """
    return _fact_line(
        "end",
        {
            "iterations": iterations,
            "seconds": round(seconds, 3),
            "peak_memory_mib": round(peak_memory_mib, 1),
            "weights_checksum": weights_checksum,
            "weights_equal": weights_equal,
            **more,
        },
    )


def error_line(kind, detail, rank):
    """Say why `rank` stops before the end.

    :raises ValueError: if `kind` is not one of :data:`ERROR_KINDS`.
    """
    if kind not in ERROR_KINDS:
        raise ValueError(f"unknown kind of error {kind!r}; known: {', '.join(ERROR_KINDS)}")
    return _fact_line("error", {"kind": kind, "detail": detail, "rank": rank})


def _fact_line(kind, facts):
    return f"{MARK} {kind} {json.dumps(facts, separators=(',', ':'), ensure_ascii=True)}"
