"""Intervals of a median of few repeats, exact: every possible resample is counted, none drawn.

The percentile bootstrap draws n values with replacement, takes their median, and repeats. For a
median the outcome of endless draws has a closed form, so the interval needs no seed and no loop.
"""

from __future__ import annotations

import math
from typing import Any, Dict, List, Sequence, Tuple

__all__ = ["bootstrap_median", "bootstrap_ratio", "order_statistics"]

Weighted = List[Tuple[float, float]]
_MOST_VALUES = 200
_MOST_PAIRS = 1_000_000


def _at_least(n: int, k: int, p: float) -> float:
    """Return the probability of k or more of n draws, each with probability p."""
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def _resampled_medians(numbers: Sequence[float]) -> Weighted:
    """Return every median that a resample of ``numbers`` can have, with its probability.

    ``reached[i]``: the (lower) middle of the resample is among the i smallest values. For an even
    n the two middle values (i, j) have the joint probability that exactly half of the draws are
    at or below value i, one of them being i, and the lowest of the others is j.
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


def bootstrap_median(numbers: Sequence[float], level: float) -> Dict[str, Any]:
    """Return low, high, level, n, reason of the exact percentile bootstrap of the median.

    :raises ValueError: more values than repeats can be.
    """
    if len(numbers) < 2:
        return _result(None, None, level, len(numbers), "one value: no interval")
    return _percentiles(_resampled_medians(numbers), level, len(numbers))


def bootstrap_ratio(
    numbers: Sequence[float], base: Sequence[float], level: float
) -> Dict[str, Any]:
    """Return the same of median(numbers) / median(base), both sides resampled; n is the smaller.

    :raises ValueError: more values than repeats can be.
    """
    n = min(len(numbers), len(base))
    if n < 2:
        return _result(None, None, level, n, "one value on a side: no interval")
    above, below = _resampled_medians(numbers), _resampled_medians(base)
    if len(above) * len(below) > _MOST_PAIRS:
        raise ValueError(f"{len(numbers)} by {len(base)} values: too many for repeats")
    return _percentiles([(a / b, p * q) for a, p in above for b, q in below], level, n)


def order_statistics(numbers: Sequence[float], level: float) -> Dict[str, Any]:
    """Return the narrowest interval between the k-th lowest and k-th highest value that covers.

    Its ``coverage`` of the true median holds for any distribution: 1 - 2 P(fewer than k of n fair
    coins). Five values reach 0.9375 at most, so 0.95 needs six.
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
