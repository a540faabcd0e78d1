"""Quantiles of Student's t distribution, also for the fractional degrees of freedom of Welch."""

from __future__ import annotations

import math
from functools import lru_cache

__all__ = ["t_quantile"]

_HALVINGS = 50
_TERMS = 25


@lru_cache(maxsize=256)
def t_quantile(probability: float, freedom: float) -> float:
    """Return the t that ``probability`` of the distribution lies below, to seven digits.

    :param probability: 0.5 or more, as 0.975 for a two-sided interval of level 0.95.
    :param freedom: degrees of freedom, above 0; need not be whole.
    :raises ValueError: a probability outside of 0.5 to 1, or no degrees of freedom.
    """
    if not 0.5 <= probability < 1:
        raise ValueError(f"probability {probability!r}: one from 0.5 to below 1 is needed")
    if not freedom > 0:
        raise ValueError(f"{freedom!r} degrees of freedom: a number above 0 is needed")
    # With x = v / (v + t²) the two tails hold I_x(v/2, 1/2), DLMF 8.17 and Abramowitz 26.7.1.
    tails, low, high = 2 * (1 - probability), 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _incomplete_beta(middle, freedom / 2, 0.5) < tails:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom * (1 - high) / high)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of DLMF 8.17.22, from its end to its front."""
    value = 1.0
    for step in range(_TERMS, 0, -1):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + term / value
    return 1 / value
