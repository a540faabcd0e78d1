"""Statistics of repeats: centre, spread, and exact intervals of medians and their ratios.

The percentile bootstrap draws n values with replacement, takes their median, and repeats. For a
median the distribution over all resamples has a closed form, so the interval is exact and needs
neither a seed nor a loop.
"""

from __future__ import annotations

import math
import statistics as stdlib
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

__all__ = [
    "finite",
    "mean",
    "median",
    "median_interval",
    "ratio_interval",
    "spread",
    "summarise",
]

Weighted = List[Tuple[float, float]]
_MOST_VALUES = 200
_MOST_PAIRS = 1_000_000


def finite(values: Any, what: str = "values") -> List[float]:
    """Return the numbers of a list, or of a mapping's values, as floats.

    :raises ValueError: not a list or mapping, empty, or one item is not a finite number.
    """
    if isinstance(values, Mapping):
        values = list(values.values())
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"{what} {values!r}: a list of numbers is needed")
    if not values:
        raise ValueError(f"no {what}: at least one number is needed")
    for index, value in enumerate(values):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise ValueError(f"{what}[{index}] is {value!r}: a finite number is needed")
    return [float(value) for value in values]


def mean(values: Any) -> float:
    """Return the arithmetic mean, not rounded.

    :raises ValueError: see :func:`finite`.
    """
    numbers = finite(values)
    return math.fsum(numbers) / len(numbers)


def median(values: Any) -> float:
    """Return the median, not rounded; of an even count the mean of the two middle values.

    :raises ValueError: see :func:`finite`.
    """
    return float(stdlib.median(finite(values)))


def spread(values: Any) -> Dict[str, Any]:
    """Return ``n``, ``sd``, ``cv``, ``minimum``, ``maximum`` and ``range``, not rounded.

    ``sd`` is the sample standard deviation (n - 1), ``cv`` is sd / |mean|. Both are None for one
    value; ``cv`` is None as well where the mean is 0.

    :raises ValueError: see :func:`finite`.
    """
    numbers = finite(values)
    centre = mean(numbers)
    sd: Optional[float] = None
    if len(numbers) > 1:
        sd = math.sqrt(math.fsum((x - centre) ** 2 for x in numbers) / (len(numbers) - 1))
    return {
        "n": len(numbers),
        "sd": sd,
        "cv": sd / abs(centre) if sd is not None and centre != 0 else None,
        "minimum": min(numbers),
        "maximum": max(numbers),
        "range": max(numbers) - min(numbers),
    }


def _checked_level(level: Any) -> float:
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise ValueError(f"level {level!r}: a number between 0 and 1 is needed, as 0.95")
    return float(level)


def median_interval(values: Any, level: float = 0.95, method: str = "bootstrap") -> Dict[str, Any]:
    """Return a confidence interval of the median of the repeats.

    :param level: between 0 and 1.
    :param method: ``bootstrap``, the exact percentile bootstrap (deterministic, no seed), or
        ``order``, the interval between two order statistics.
    :returns: ``low``, ``high``, ``level``, ``method``, ``n`` and ``reason``; with ``order`` also
        the guaranteed ``coverage``. Without an interval low and high are None, and ``reason`` says
        why.
    :raises ValueError: see :func:`finite`; unknown method; level not between 0 and 1.
    """
    numbers, level = finite(values), _checked_level(level)
    if method == "bootstrap":
        return dict(_bootstrap_median(numbers, level), method=method)
    if method == "order":
        return dict(_order_statistics(numbers, level), method=method)
    raise ValueError(f"no method named {method!r} for an interval: use bootstrap or order")


def ratio_interval(values: Any, base: Any, level: float = 0.95) -> Dict[str, Any]:
    """Return the exact percentile bootstrap interval of median(values) / median(base).

    :returns: as :func:`median_interval` with ``bootstrap``; ``n`` is that of the smaller side.
    :raises ValueError: see :func:`finite`; a base of 0 or less; level not between 0 and 1.
    """
    numbers, below, level = finite(values), finite(base, "base"), _checked_level(level)
    if min(below) <= 0:
        raise ValueError(f"base {min(below)!r}: a ratio needs a base above 0")
    return dict(_bootstrap_ratio(numbers, below, level), method="bootstrap")


def summarise(values: Any, level: float = 0.95) -> Dict[str, Any]:
    """Return ``mean``, ``median``, the keys of :func:`spread`, and ``interval`` of the median.

    :raises ValueError: see :func:`finite` and :func:`median_interval`.
    """
    numbers = finite(values)
    centre = {"mean": mean(numbers), "median": median(numbers)}
    return {**centre, **spread(numbers), "interval": median_interval(numbers, level)}


def _at_least(n: int, k: int, p: float) -> float:
    """Return the probability of k or more of n draws, each with probability p."""
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def _resampled_medians(numbers: Sequence[float]) -> Weighted:
    """Return every median that a resample of ``numbers`` can have, with its probability.

    ``reached[i]`` is the probability that the (lower) middle of the resample is among the i
    smallest values. For an even n the two middle values (i, j) have the joint probability that
    exactly half of the draws are at or below value i, at least one of them is value i, and the
    lowest of the others is value j.

    :raises ValueError: more than ``_MOST_VALUES`` values.
    """
    ordered, n = sorted(numbers), len(numbers)
    if n > _MOST_VALUES:
        raise ValueError(
            f"{n} values: this interval is for repeats, {_MOST_VALUES} at most; the observations "
            "within one run are not independent of each other"
        )
    half = (n + 1) // 2
    reached = [_at_least(n, half, i / n) for i in range(n + 1)]
    if n % 2:
        return [(ordered[i], reached[i + 1] - reached[i]) for i in range(n)]
    share = [(i / n) ** half for i in range(n + 1)]
    weighted: Weighted = []
    for i in range(n):
        lower = math.comb(n, half) * (share[i + 1] - share[i])
        weighted.append((ordered[i], reached[i + 1] - reached[i] - lower * share[n - i - 1]))
        for j in range(i + 1, n):
            joint = lower * (share[n - j] - share[n - j - 1])
            weighted.append(((ordered[i] + ordered[j]) / 2, joint))
    return weighted


def _result(low: Any, high: Any, level: float, n: int, reason: str = "") -> Dict[str, Any]:
    return {"low": low, "high": high, "level": level, "n": n, "reason": reason}


def _percentiles(weighted: Weighted, level: float, n: int) -> Dict[str, Any]:
    """Return the values at which the cumulative probability reaches both tails of ``level``."""
    bounds: List[float] = []
    total, tail = 0.0, (1 - level) / 2
    for value, weight in sorted(weighted):
        total += weight
        while len(bounds) < 2 and total >= (tail, 1 - tail)[len(bounds)] - 1e-12:
            bounds.append(value)
    return _result(bounds[0], bounds[1], level, n)


def _bootstrap_median(numbers: Sequence[float], level: float) -> Dict[str, Any]:
    """Return the interval of the median over all resamples.

    :raises ValueError: see :func:`_resampled_medians`.
    """
    if len(numbers) < 2:
        return _result(None, None, level, len(numbers), "one value: no interval")
    return _percentiles(_resampled_medians(numbers), level, len(numbers))


def _bootstrap_ratio(
    numbers: Sequence[float], base: Sequence[float], level: float
) -> Dict[str, Any]:
    """Return the interval of median(numbers) / median(base), both sides resampled.

    :raises ValueError: see :func:`_resampled_medians`; more than ``_MOST_PAIRS`` pairs of medians.
    """
    n = min(len(numbers), len(base))
    if n < 2:
        return _result(None, None, level, n, "one value on a side: no interval")
    above, below = _resampled_medians(numbers), _resampled_medians(base)
    if len(above) * len(below) > _MOST_PAIRS:
        raise ValueError(f"{len(numbers)} by {len(base)} values: too many for repeats")
    return _percentiles([(a / b, p * q) for a, p in above for b, q in below], level, n)


def _order_statistics(numbers: Sequence[float], level: float) -> Dict[str, Any]:
    """Return the narrowest interval from the k-th lowest to the k-th highest value at ``level``.

    Its ``coverage`` of the true median is 1 - 2 P(fewer than k heads in n fair coin tosses), for
    any distribution. Five values reach 0.9375 at most, so 0.95 needs six.
    """
    ordered, n = sorted(numbers), len(numbers)
    coverage, k = 1.0, 0
    while k < n // 2 and 1 - 2 * (1 - _at_least(n, k + 1, 0.5)) >= level:
        k += 1
        coverage = 1 - 2 * (1 - _at_least(n, k, 0.5))
    if k == 0:
        reason = f"{n} value(s) cover {1 - 2.0 ** (1 - n):.4f} at most"
        return dict(_result(None, None, level, n, reason), coverage=None)
    return dict(_result(ordered[k - 1], ordered[n - k], level, n), coverage=coverage)
