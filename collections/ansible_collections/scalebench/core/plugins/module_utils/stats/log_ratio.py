"""Two sets of repeats compared by Welch's t on logarithms.

Estimate and interval of the ratio of their geometric means, tests for a difference, for a bound
and for equivalence, and Holm's correction for many such tests.

Logarithms, because the noise of a throughput is proportional to it, and because the results then
do not depend on which side is the numerator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import List, Sequence, Tuple

from .distributions import t_quantile, t_upper_tail

__all__ = [
    "EQUIVALENCE_ALPHA",
    "MARGIN",
    "LogRatio",
    "above_p",
    "below_p",
    "benjamini_hochberg",
    "centre",
    "check_margin",
    "difference_p",
    "equivalence_p",
    "freedom",
    "holm",
    "interval",
    "log_ratio",
    "of_both",
    "rounding",
]

# A change that does not matter, as a share, and the error of each test that a change is smaller.
# Campaigns and published figures are compared by the same two.
MARGIN, EQUIVALENCE_ALPHA = 0.02, 0.05
# Throughputs are rounded to two places (rule numpy_2), below 1 to three digits. Other programs
# print two places there too, and so did ours; below 0.1 these would say nothing.
_RESOLUTION, _SMALL, _DIGITS = 0.01, 0.1, 3


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

    :param ours: throughputs of the repeats, above 0.
    :param baseline: the same of the other side, in the same unit.
    :raises ValueError: a side has fewer than two repeats, so that its variance is unknown.
    """
    if min(len(ours), len(baseline)) < 2:
        raise ValueError("fewer than two repeats on a side: its spread is unknown")
    (above, a), (below, b) = centre(ours), centre(baseline)
    error = math.sqrt(a + b + rounding(above) + rounding(below))
    return LogRatio(above - below, error, of_both((a, len(ours)), (b, len(baseline))))


def freedom(ours: Tuple[float, float], baseline: Tuple[float, float]) -> float:
    """Return the degrees of freedom of the difference of two means, by Satterthwaite.

    :param ours: the variance of the mean, and of how many values it is; ``baseline`` likewise.
    """
    (a, n), (b, m) = ours, baseline
    return (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1))


def of_both(ours: Tuple[float, float], baseline: Tuple[float, float]) -> float:
    """Return the degrees of freedom of the difference of two samples, of two values or more each.

    At most those of two samples of the smaller size: where its few values lie close together by
    chance, Satterthwaite's are those of the larger one, and of pairs of 2 and 20 equal repeats 12 %
    differ at a level of 5 %. With this limit 4 % do (docs/statistics.md).

    :param ours: as of :func:`freedom`; ``baseline`` likewise.
    """
    return min(freedom(ours, baseline), 2 * (min(ours[1], baseline[1]) - 1))


def centre(speeds: Sequence[float]) -> Tuple[float, float]:
    """Return the mean of the logarithms and the variance of that mean.

    Repeats that print equal values still differ below the last printed digit: the variance of one
    is at least that of :func:`rounding`.
    """
    logs = [math.log(speed) for speed in speeds]
    n, mean = len(logs), math.fsum(logs) / len(logs)
    variance = math.fsum((value - mean) ** 2 for value in logs) / (n - 1)
    return mean, max(variance, rounding(mean)) / n


def rounding(mean: float) -> float:
    """Return the variance that rounding adds to a mean of logarithms, however many they are.

    resolution^2 / 12, JCGM 100:2008 (GUM), F.2.2.1, relative to the speed. It does not shrink with
    the number of repeats: where they scatter less than the last digit, all are rounded the same
    way. Simulated for 2 and 5 repeats at 0.37 to 30 samples/s and cv 0.03 to 1 %: sides that are
    equal differ in at most 5 % of 20,000 draws, and in up to 14 % if it is taken to shrink.
    """
    speed = math.exp(mean)
    last = _RESOLUTION
    if speed < _SMALL:
        last = 10.0 ** (math.floor(math.log10(speed)) + 1 - _DIGITS)
    return (last / speed) ** 2 / 12


def interval(ratio: LogRatio, level: float) -> Tuple[float, float]:
    """Return the bounds of the confidence interval of ours / baseline.

    :param level: between 0 and 1.
    """
    half = t_quantile((1 + level) / 2, ratio.degrees_of_freedom) * ratio.standard_error
    return math.exp(ratio.estimate - half), math.exp(ratio.estimate + half)


def difference_p(ratio: LogRatio) -> float:
    """Return the two-sided p value of the hypothesis that the sides are equal."""
    t = abs(ratio.estimate) / ratio.standard_error
    return min(1.0, 2 * t_upper_tail(t, ratio.degrees_of_freedom))


def above_p(ratio: LogRatio, bound: float) -> float:
    """Return the p value of the test that the ratio is above ``bound``; small where it is."""
    t = (ratio.estimate - math.log(bound)) / ratio.standard_error
    return t_upper_tail(t, ratio.degrees_of_freedom)


def below_p(ratio: LogRatio, bound: float) -> float:
    """Return the p value of the test that the ratio is below ``bound``; small where it is."""
    t = (ratio.estimate - math.log(bound)) / ratio.standard_error
    return t_upper_tail(-t, ratio.degrees_of_freedom)


def equivalence_p(ratio: LogRatio, margin: float) -> float:
    """Return the p value of the test that the ratio is between 1 - margin and 1 + margin.

    Two one-sided tests, both of which must be passed: Schuirmann, "A comparison of the two
    one-sided tests procedure and the power approach", Journal of Pharmacokinetics and
    Biopharmaceutics 15 (1987). At 0.05 it is equivalent to a 90 % interval within the margin.

    :param margin: a fraction between 0 and 1.
    """
    return max(above_p(ratio, 1 - margin), below_p(ratio, 1 + margin))


def check_margin(margin: float) -> None:
    """Refuse an invalid equivalence margin.

    :raises ValueError: it is not above 0 and below 1.
    """
    if not 0 < margin < 1:
        raise ValueError(f"equivalence_margin={margin}: a share above 0 and below 1, e.g. 0.02")


def holm(p_values: Sequence[float]) -> List[float]:
    """Return the adjusted p values, in the order given.

    Rejecting all at or below a limit such as 0.05 makes the probability of one or more false
    positives at most that limit, however the tests depend on each other: Holm, "A simple
    sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> List[float]:
    """Return the adjusted p values, in the order given.

    Of those at or below a limit such as 0.05 at most that share is expected to be false; where no
    difference is there, the probability of one or more is at most the limit. Holds for tests that
    are independent or positively dependent: Benjamini and Hochberg, "Controlling the false
    discovery rate", Journal of the Royal Statistical Society B 57 (1995).
    """
    order = sorted(range(len(p_values)), key=lambda index: -p_values[index])
    adjusted = [0.0] * len(p_values)
    least = 1.0
    for rank, index in enumerate(order):
        least = min(least, p_values[index] * len(order) / (len(order) - rank))
        adjusted[index] = least
    return adjusted
