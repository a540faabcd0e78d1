"""The line that Paddle 1.8's image classification prints for a step.

After the source of PaddlePaddle/models, release 1.8, PaddleCV/image_classification; its published
logs are read by `elapse`. Standard library only.
"""

from __future__ import annotations

import time


def step_line(number, *, epoch, loss, top1, top5, rate, seconds, now):
    """State one step of the whole job.

    :param number: the step, counted from 0 over all epochs.
    :param epoch: passes over the data set finished before it.
    :param loss: mean loss over the global batch.
    :param top1: share of the global batch whose label came first; `top5` among the first five.
    :param rate: learning rate.
    :param seconds: wall time since the step before ended.
    :param now: seconds since 1970 at the end of the step; printed in UTC.
    """
    whole, part = divmod(int(now * 1000), 1000)
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(whole))
    return (
        f"{stamp},{part:03d}-INFO: [Pass {epoch}, train batch {number}] \tloss {loss:.5f}, "
        f"acc1 {top1:.5f}, acc5 {top5:.5f}, lr {rate:.5f}, elapse {seconds:.4f} sec"
    )
