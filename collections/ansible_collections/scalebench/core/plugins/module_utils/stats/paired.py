"""Two sets of repeats that took turns: the ratio of their speeds from the difference in each round.

What a round has in common (the hour, the temperature, neighbours) cancels in the difference, so
that the variance of days and of drift is no part of the error.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from statistics import NormalDist
from typing import Sequence, Tuple

from .log_ratio import LogRatio, rounding

__all__ = ["least_signed_rank_p", "paired_ratio", "signed_rank"]

# Of more pairs the sum of ranks is normal to within 1 % of a p value of 5 %, and long to count.
_MOST_COUNTED = 100


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


def signed_rank(ours: Sequence[float], reference: Sequence[float]) -> Tuple[int, float]:
    """Return a sum, below 0 where ours is slower, and the two-sided p value of equal sides.

    Which of two equal sides ran first in a round was drawn by lot, so each difference is as likely
    with the other sign: Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin
    1 (1945). The sum is twice that of the signed ranks (equal differences have their mean rank);
    the p value counts all signs that give one as far from 0. No shape of the noise is assumed, and
    a round that is far off counts no more than its rank. A difference of the last printed digit may
    be rounding: that round is left out.

    :param ours: throughputs above 0, one a round; ``reference`` those of the same rounds.
    """
    differences = [
        math.log(a) - math.log(b)
        for a, b in zip(ours, reference)
        # sqrt(12 rounding) is one last digit.
        if abs(math.log(a / b)) > math.sqrt(13 * rounding(math.log(min(a, b))))
    ]
    # Equal differences of unequal speeds are equal but for their last bits.
    sizes = sorted(round(abs(one), 12) for one in differences)
    ranks = [bisect_left(sizes, one) + bisect_right(sizes, one) + 1 for one in sizes]
    own = dict(zip(sizes, ranks))
    total = sum(own[round(abs(one), 12)] * (1 if one > 0 else -1) for one in differences)
    if len(ranks) > _MOST_COUNTED:
        scale = math.sqrt(sum(rank**2 for rank in ranks))
        return total, 2 * NormalDist().cdf(-abs(total) / scale)
    # How many choices of signs give each sum of the ranks above 0.
    counts = [1]
    for rank in ranks:
        more = [0] * rank
        counts = [a + b for a, b in zip(counts + more, more + counts)]
    tail = sum(counts[: (sum(ranks) - abs(total)) // 2 + 1])
    return total, min(1.0, 2 * tail / 2 ** len(ranks))


def least_signed_rank_p(pairs: int) -> float:
    """Return the smallest p value that :func:`signed_rank` can have of so many pairs."""
    return 2.0 ** (1 - pairs)
