"""The interval of a ratio of two medians of few repeats, or of a median and one printed figure.

Noise of a speed is a share of it, so the interval is that of a difference of logarithms, by
Student's t. A median of n values scatters more than their mean: its variance is at most pi/2 of
the mean's, the limit for many values (Kendall and Stuart, The Advanced Theory of Statistics, 1,
14.12). That limit is taken from three values on, where it is too wide rather than too narrow.
"""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Sequence

from .statistics import finite, median
from .student_t import quantile

__all__ = ["ratio_of_medians", "ratio_to_figure"]


def ratio_of_medians(
    speeds: Sequence[float], base: Sequence[float], level: float
) -> Dict[str, Any]:
    """Return ``low``, ``high`` and ``reason`` of median(speeds) / median(base), by Welch's test.

    :param speeds: of the repeats, above 0, in the unit of ``base``.
    :param level: how often such an interval holds the true ratio, as 0.95.
    :returns: low and high are None where ``reason`` says why there is no interval.
    :raises ValueError: no values, or one that is no finite number above 0.
    """
    above, below = _positive(speeds), _positive(base)
    if min(len(above), len(below)) < 2:
        return _nothing("one repeat on a side shows no noise")
    shares = [_variance(side) / len(side) for side in (above, below)]
    if sum(shares) == 0:
        return _nothing("all repeats of a side are equal and show no noise")
    # Welch and Satterthwaite: https://doi.org/10.2307/3002019
    freedom = sum(shares) ** 2 / sum(
        share**2 / (len(side) - 1) for share, side in zip(shares, (above, below))
    )
    variance = sum(_factor(len(side)) * share for share, side in zip(shares, (above, below)))
    return _interval(median(above) / median(below), variance, freedom, level)


def ratio_to_figure(
    speeds: Sequence[float], figure: float, repeats: Optional[int], level: float
) -> Dict[str, Any]:
    """Return the same of median(speeds) / figure; the figure is taken to scatter as the speeds do.

    :param figure: the median of ``repeats`` runs, each of which is not known; None: of one run.
    :raises ValueError: no values, or one that is no finite number above 0.
    """
    above, n = _positive(speeds), repeats or 1
    theirs = _positive([figure])[0]
    if len(above) < 2:
        return _nothing("one repeat shows no noise")
    variance = _variance(above)
    if variance == 0:
        return _nothing("all repeats are equal and show no noise")
    both = variance * (_factor(len(above)) / len(above) + _factor(n) / n)
    return _interval(median(above) / theirs, both, len(above) - 1, level)


def _positive(values: Sequence[float]) -> List[float]:
    numbers = finite(values, "speeds")
    if min(numbers) <= 0:
        raise ValueError(f"speed {min(numbers)!r}: a ratio needs speeds above 0")
    return numbers


def _variance(speeds: Sequence[float]) -> float:
    """Return the sample variance of the logarithms."""
    logs = [math.log(speed) for speed in speeds]
    centre = math.fsum(logs) / len(logs)
    return math.fsum((value - centre) ** 2 for value in logs) / (len(logs) - 1)


def _factor(n: int) -> float:
    """Return the variance of a median over that of the mean; the two are one up to two values."""
    return math.pi / 2 if n > 2 else 1.0


def _nothing(reason: str) -> Dict[str, Any]:
    return {"low": None, "high": None, "reason": reason}


def _interval(ratio: float, variance: float, freedom: float, level: float) -> Dict[str, Any]:
    half = quantile((1 + level) / 2, freedom) * math.sqrt(variance)
    return {"low": ratio * math.exp(-half), "high": ratio * math.exp(half), "reason": ""}
