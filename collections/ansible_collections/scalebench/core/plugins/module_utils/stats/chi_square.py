"""Chi-square distribution in pure Python: lower tail and quantile."""

from __future__ import annotations

import math
from functools import lru_cache

__all__ = ["lower_tail", "quantile"]

_PRECISION = 1e-16


def lower_tail(x: float, degrees_of_freedom: float) -> float:
    """Return the probability of a value below ``x``.

    The regularised incomplete gamma function P(d/2, x/2) by its series, NIST Digital Library of
    Mathematical Functions 8.11.4, https://dlmf.nist.gov/8.11.

    :raises ValueError: the degrees of freedom are not above 0.
    """
    if not degrees_of_freedom > 0:
        raise ValueError(f"degrees of freedom {degrees_of_freedom!r}: a number above 0 is needed")
    if x <= 0:
        return 0.0
    a, half = degrees_of_freedom / 2, x / 2
    term = total = 1.0
    while term > _PRECISION * total:
        a += 1
        term *= half / a
        total += term
    a = degrees_of_freedom / 2
    return min(1.0, total * math.exp(a * math.log(half) - half - math.lgamma(a + 1)))


@lru_cache(maxsize=256)
def quantile(probability: float, degrees_of_freedom: float) -> float:
    """Return the value below which lies ``probability`` of the distribution, by bisection.

    :raises ValueError: the probability is not between 0 and 1; degrees of freedom not above 0.
    """
    if not 0 < probability < 1:
        raise ValueError(f"probability {probability!r}: a number between 0 and 1 is needed")
    low, high = 0.0, 1.0
    while lower_tail(high, degrees_of_freedom) < probability:
        low, high = high, high * 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if lower_tail(middle, degrees_of_freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2
