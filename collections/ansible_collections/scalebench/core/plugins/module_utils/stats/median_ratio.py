"""The interval of a ratio of two medians of few repeats, or of a median and a published figure.

The noise of a speed is proportional to it, so the interval is that of a difference of logarithms,
by Student's t. A median of n values scatters more than their mean: its variance is at most pi/2 of
the mean's, the limit for many values (Kendall and Stuart, The Advanced Theory of Statistics, 1,
14.12). That limit is used from three values on, where it makes the interval too wide rather than
too narrow.
"""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .distributions import CERTAIN, t_quantile
from .log_ratio import (
    EQUIVALENCE_ALPHA,
    LogRatio,
    centre,
    difference_p,
    equivalence_p,
    interval,
    of_both,
    rounding,
)
from .statistics import finite, median

__all__ = [
    "LEVEL",
    "fastest",
    "finding",
    "interval_of_median",
    "ratio_of_medians",
]

LEVEL = 0.95


def ratio_of_medians(
    speeds: Sequence[float], base: Sequence[float], level: float
) -> Dict[str, Any]:
    """Return the interval of median(speeds) / median(base), by Welch's test.

    :param speeds: of the repeats, above 0, in the unit of ``base``.
    :param level: of confidence, such as 0.95.
    :returns: ``low``, ``high`` and ``reason``; without an interval low and high are None, and
        ``reason`` says why.
    :raises ValueError: no values, or one that is not a finite number above 0.
    """
    above, below = _positive(speeds), _positive(base)
    if min(len(above), len(below)) < 2:
        return _nothing("one repeat on a side shows no noise")
    return _interval(*_of_medians(above, below), level)


def _of_medians(above: Sequence[float], below: Sequence[float]) -> Tuple[float, float, float]:
    """Return the ratio, the variance of its logarithm and the degrees of freedom of that."""
    (up, a), (down, b) = centre(above), centre(below)
    variance = _factor(len(above)) * a + _factor(len(below)) * b + rounding(up) + rounding(down)
    # Welch and Satterthwaite: https://doi.org/10.2307/3002019
    degrees = of_both((a, len(above)), (b, len(below)))
    return median(above) / median(below), variance, degrees


def interval_of_median(speeds: Sequence[float], level: float, day: float = 0.0) -> Dict[str, Any]:
    """Return the interval of the median of repeats, by Student's t.

    :param day: known standard deviation of days, as a share, for the interval of the median of all
        days; 0 for that of the day.
    :returns: as :func:`ratio_of_medians`.
    :raises ValueError: no values, or one that is not a finite number above 0.
    """
    values = _positive(speeds)
    if len(values) < 2:
        return _nothing("one repeat shows no noise")
    mean, variance = centre(values)
    own = _factor(len(values)) * variance + rounding(mean)
    # What is known has no degrees of freedom (Satterthwaite).
    degrees = (len(values) - 1) * ((own + day**2) / own) ** 2
    return _interval(median(values), own + day**2, min(degrees, CERTAIN), level)


def _to_figure(above: Sequence[float], figure: float, n: int) -> Tuple[float, float, float]:
    """Return what :func:`_of_medians` does."""
    mean, variance = centre(above)
    both = variance * (_factor(len(above)) + _factor(n) * len(above) / n) + 2 * rounding(mean)
    return median(above) / figure, both, len(above) - 1


def _positive(values: Sequence[float]) -> List[float]:
    numbers = finite(values, "speeds")
    if min(numbers) <= 0:
        raise ValueError(f"speed {min(numbers)!r}: a ratio needs speeds above 0")
    return numbers


def _factor(n: int) -> float:
    """Return the variance of a median over that of the mean: 1 up to two values."""
    return math.pi / 2 if n > 2 else 1.0


def _nothing(reason: str) -> Dict[str, Any]:
    return {"low": None, "high": None, "reason": reason}


def _interval(ratio: float, variance: float, freedom: float, level: float) -> Dict[str, Any]:
    half = t_quantile((1 + level) / 2, freedom) * math.sqrt(variance)
    return {"low": ratio * math.exp(-half), "high": ratio * math.exp(half), "reason": ""}


def fastest(speeds: Mapping[str, Sequence[float]]) -> Optional[str]:
    """Return the name whose median is above every other beyond noise; None without one.

    The level of each comparison is Bonferroni's, so that among equals a fastest is named with a
    probability of at most 1 - LEVEL.

    :param speeds: of the repeats, by name.
    """
    others = len(speeds) - 1
    if others < 1:
        return None
    for name, own in speeds.items():
        rest = [runs for other, runs in speeds.items() if other != name]
        lows = [ratio_of_medians(own, runs, 1 - (1 - LEVEL) / others)["low"] for runs in rest]
        if all(low is not None and low > 1 for low in lows):
            return name
    return None


def finding(
    runs: Sequence[float],
    published: Mapping[str, Any],
    figure: float,
    tolerance: float,
    level: float,
) -> Dict[str, Any]:
    """Return the interval of median(runs) / figure and the verdict that follows from it.

    Neither contains how laboratories differ: machines of one kind, sites, days. No source of a
    published figure tells that.

    :param runs: the measured repeats, in the unit of ``figure``.
    :param published: the row of the figure: ``runs`` by repeat where known, ``repeats``,
        ``statistic``.
    :param tolerance: half width of the margin of equivalence, as a fraction.
    :param level: of the interval.
    :returns: ``low`` and ``high`` of the ratio; ``p_difference`` of the test that the ratio is 1;
        ``beyond_repeats``, whether that is at most 1 - level; ``finding``: equivalent within 1 +-
        tolerance by two one-sided tests at EQUIVALENCE_ALPHA, faster or slower where low and high
        lie beyond it, else undecided; ``why``. Without an interval the others are None.
    :raises ValueError: a speed is not a number above 0.
    """
    ratio, basis = _to_published(runs, published, figure)
    if ratio is None:
        nothing = dict.fromkeys(("low", "high", "p_difference", "beyond_repeats"))
        return {**nothing, "finding": "undecided", "why": f"no interval: {basis}"}
    low, high = interval(ratio, level)
    p_difference = difference_p(ratio)
    verdict = "undecided"
    if equivalence_p(ratio, tolerance) <= EQUIVALENCE_ALPHA:
        verdict = "equivalent"
    elif low > 1 + tolerance:
        verdict = "faster"
    elif high < 1 - tolerance:
        verdict = "slower"
    return {
        "low": low,
        "high": high,
        "p_difference": p_difference,
        "beyond_repeats": p_difference <= 1 - level,
        "finding": verdict,
        "why": f"interval {low:.4f} to {high:.4f} of the ratio at level {level:g}, margin"
        f" {tolerance:g}; {basis}; without how machines, sites and days differ",
    }


def _to_published(
    runs: Sequence[float], published: Mapping[str, Any], figure: float
) -> Tuple[Optional[LogRatio], str]:
    """Return the ratio and which noise its error contains; or None and why."""
    if not runs:
        return None, "the measured repeats are not known"
    ours, theirs = _positive(runs), list((published.get("runs") or {}).values())
    if len(theirs) > 1:
        if len(ours) < 2:
            return None, "one repeat on a side shows no noise"
        found, basis = _of_medians(ours, _positive(theirs)), "noise of the runs of both sides"
    else:
        figure = _positive([figure])[0]
        if len(ours) < 2:
            return None, "one repeat shows no noise"
        of = published.get("repeats") if published.get("statistic") == "median" else 1
        taken = f"a median of {of} runs" if of and of > 1 else "one run"
        found = _to_figure(ours, figure, of or 1)
        basis = f"the published figure is taken for {taken} as noisy as the measured ones"
    ratio, variance, degrees = found
    return LogRatio(math.log(ratio), math.sqrt(variance), degrees), basis
