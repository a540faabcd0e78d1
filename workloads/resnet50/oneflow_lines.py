"""The line that OneFlow-Benchmark's classification prints for an iteration.

As seed 002 and later issue threads of Oneflow-Inc/OneFlow-Benchmark show it. Standard library only.
"""

from __future__ import annotations


def iteration_line(number, *, epoch, loss, top1, top5, samples, seconds, now):
    """State one iteration of the whole job.

    :param number: the iteration, counted from 1, warm-up included.
    :param epoch: passes over the data set finished before it.
    :param loss: mean loss over the global batch.
    :param top1: share of the global batch whose label came first; `top5` among the first five.
    :param samples: images of the global batch.
    :param seconds: wall time since the iteration before ended.
    :param now: seconds since 1970 at the end of the iteration.
    """
    return (
        f"train: epoch {epoch}, iter {number}, loss: {loss:.6f}, top_1: {top1:.6f}, "
        f"top_k: {top5:.6f}, samples/s: {samples / seconds:.3f} {now:.6f}"
    )
