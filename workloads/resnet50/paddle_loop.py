"""The steps of a Paddle trainer, whatever its version: warm-up and measured ones, each printed.

Standard library only and runs on Python 3.7, as the oldest Paddle needs.
"""

from __future__ import annotations

import math
import time

from paddle_lines import step_line
from report_lines import StoppedError


def run(options, place, step, feed, rate, settle):
    """Do warm-up and measured steps, print each; return their wall time in seconds.

    :param step: called with images and labels, returns loss, top-1 and top-5 share on the device.
    :param feed: gives `(epoch, images, labels)`.
    :param settle: called to wait until the device has done what it was given.
    :raises StoppedError: on a loss that is no number; all ranks see the same mean.
    """
    batch = next(feed)
    begin = before = time.perf_counter()
    for number in range(options.warmup + options.iterations):
        epoch, images, labels = batch
        means = step(images, labels)
        batch = next(feed)  # while a GPU still computes
        loss, top1, top5 = means.numpy().tolist()
        settle()
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
