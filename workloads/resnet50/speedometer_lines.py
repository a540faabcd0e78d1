"""One iteration in the form that MXNet's Speedometer prints, as NVIDIA's trainer has it.

Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import time


def speedometer_line(batch, *, epoch, loss, samples, seconds, rate, moment):
    """State one iteration of the whole job.

    Published logs have one line for 20 batches; this is the form for a line each.

    :param batch: the iteration, counted from 0 in each epoch.
    :param epoch: passes over the data set finished before it (0 for synthetic data).
    :param loss: mean loss over the global batch.
    :param samples: images of the global batch.
    :param seconds: wall time since the iteration before ended.
    :param rate: the learning rate.
    :param moment: seconds since 1970 at the end of the iteration; printed in UTC, so that a change
        of summer time is no jump.
    """
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(moment))
    milliseconds = int(moment % 1 * 1000)
    return (
        f"{stamp},{milliseconds:03d}:INFO: Epoch[{epoch}] Batch [{batch}-{batch}]\t"
        f"Speed: {samples / seconds:.4f} samples/sec\tLR: {rate:.8g}\tloss={loss:.6f}"
    )
