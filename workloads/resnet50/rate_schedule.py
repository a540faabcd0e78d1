"""The learning rate over a training of some epochs: a linear start, then half a cosine to 0.

NVIDIA's ResNet-50 v1.5 recipe warms up for 8 of 120 epochs; the same share is taken here.
"""

from __future__ import annotations

import math

WARMUP_SHARE = 8 / 120


def scheduled_rate(peak, number, total):
    """Return the learning rate of one iteration.

    :param peak: the rate after the warm-up.
    :param number: the iteration, counted from 1.
    :param total: iterations of all epochs.
    """
    warmup = math.ceil(total * WARMUP_SHARE)
    if number <= warmup:
        return peak * number / warmup
    return peak * (1 + math.cos(math.pi * (number - warmup) / (total - warmup))) / 2
