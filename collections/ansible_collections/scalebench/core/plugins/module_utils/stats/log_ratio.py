"""The ratio of two sets of repeats by Welch's t on logarithms: estimate, interval, difference.

Logarithms, because noise of a throughput is a share of it, and so that ours / theirs and
theirs / ours tell the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence, Tuple

from .student_t import quantile, upper_tail

__all__ = ["LogRatio", "difference_p", "interval", "log_ratio"]

# Throughputs are rounded to two places (rule numpy_2).
_RESOLUTION = 0.01


@dataclass(frozen=True)
class LogRatio:
    """ln(ours / baseline), its standard error, and the degrees of freedom of both variances."""

    estimate: float
    standard_error: float
    degrees_of_freedom: float


def log_ratio(ours: Sequence[float], baseline: Sequence[float]) -> LogRatio:
    """Return the logarithm of the ratio of the geometric means.

    Welch, "The generalization of Student's problem when several different population variances
    are involved", Biometrika 34 (1947): the two sides need not scatter alike. Degrees of freedom
    by Satterthwaite, Biometrics Bulletin 2 (1946).

    :param ours: throughputs of the repeats, above 0; ``baseline`` in the same unit.
    :raises ValueError: one repeat only on a side: nothing is known of its spread.
    """
    if min(len(ours), len(baseline)) < 2:
        raise ValueError("one repeat only on a side: nothing is known of its spread")
    (above, a), (below, b) = _centre(ours), _centre(baseline)
    freedom = (a + b) ** 2 / (a**2 / (len(ours) - 1) + b**2 / (len(baseline) - 1))
    return LogRatio(above - below, math.sqrt(a + b), freedom)


def _centre(speeds: Sequence[float]) -> Tuple[float, float]:
    """Return the mean of the logarithms and the square of its standard error."""
    logs = [math.log(speed) for speed in speeds]
    n, mean = len(logs), math.fsum(logs) / len(logs)
    variance = math.fsum((value - mean) ** 2 for value in logs) / (n - 1)
    # Repeats that all print the same still differ below the last place that is printed: variance
    # resolution^2 / 12, JCGM 100:2008 (GUM), F.2.2.1. As a share of the speed, as logarithms are.
    return mean, max(variance, (_RESOLUTION / math.exp(mean)) ** 2 / 12) / n


def interval(found: LogRatio, level: float) -> Tuple[float, float]:
    """Return low and high of ours / baseline at a level between 0 and 1."""
    half = quantile((1 + level) / 2, found.degrees_of_freedom) * found.standard_error
    return math.exp(found.estimate - half), math.exp(found.estimate + half)


def difference_p(found: LogRatio) -> float:
    """Return the probability of so large a difference, either way, where there is none."""
    t = abs(found.estimate) / found.standard_error
    return min(1.0, 2 * upper_tail(t, found.degrees_of_freedom))
