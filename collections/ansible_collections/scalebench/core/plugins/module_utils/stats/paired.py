"""Two sets of repeats that took turns: the ratio of their speeds from the difference in each round.

What a round has in common (the hour, the temperature, neighbours) cancels in the difference, so
that the variance of days and of drift is no part of the error.
"""

from __future__ import annotations

import math
from typing import Sequence

from .log_ratio import LogRatio, rounding

__all__ = ["MOST_PAIRS", "least_sign_flip_p", "paired_ratio", "sign_flip_p"]

# All sign changes of more pairs take too long to count: 2^16 sums take 0.1 s.
MOST_PAIRS = 16


def paired_ratio(ours: Sequence[float], reference: Sequence[float]) -> LogRatio:
    """Return the mean difference of the logarithms, of paired values, for ``log_ratio``'s tests.

    Student, "The probable error of a mean", Biometrika 6 (1908). Values that are printed equal
    still differ below their last digit (``log_ratio.rounding``).

    :param ours: throughputs above 0, one a round; ``reference`` those of the same rounds.
    :raises ValueError: fewer than two rounds, so that the variance is unknown.
    """
    differences = [math.log(a) - math.log(b) for a, b in zip(ours, reference)]
    n = len(differences)
    if n < 2:
        raise ValueError("fewer than two rounds with both: the spread is unknown")
    mean = math.fsum(differences) / n
    variance = math.fsum((one - mean) ** 2 for one in differences) / (n - 1)
    floor = sum(rounding(math.fsum(map(math.log, side)) / n) for side in (ours, reference))
    return LogRatio(mean, math.sqrt(max(variance, floor) / n + floor), n - 1)


def sign_flip_p(ours: Sequence[float], reference: Sequence[float]) -> float:
    """Return the exact two-sided p value of the hypothesis that the sides are equal.

    Which of two equal sides ran first in a round was drawn by lot, so each difference is as likely
    with the other sign: Fisher, "The Design of Experiments" (1935), section 21. It counts the sums
    of all 2^n changes of signs that are at least as far from 0. No shape of the noise is assumed.

    :param ours: at most :data:`MOST_PAIRS` throughputs, one a round; ``reference`` likewise.
    """
    differences = [math.log(a) - math.log(b) for a, b in zip(ours, reference)]
    # Equal sums are summed in different orders: a part of 1e9 is no difference.
    least = abs(math.fsum(differences)) * (1 - 1e-9)
    sums = [0.0]
    for one in differences:
        sums = [total + sign for total in sums for sign in (one, -one)]
    return sum(abs(total) >= least for total in sums) / len(sums)


def least_sign_flip_p(pairs: int) -> float:
    """Return the smallest p value that :func:`sign_flip_p` can have of so many pairs."""
    return 2.0 ** (1 - pairs)
