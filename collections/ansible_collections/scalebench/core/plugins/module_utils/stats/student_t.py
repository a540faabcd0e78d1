"""Student's t distribution in pure Python, upper tail and quantile, and the upper tail of F."""

from __future__ import annotations

import math
from functools import lru_cache

__all__ = ["CERTAIN", "f_upper_tail", "quantile", "upper_tail"]

# Degrees of freedom of what is as good as known.
CERTAIN = 10_000
_LEAST = 1e-300
_PRECISION = 1e-15
_MOST_TERMS = 10_000


def upper_tail(t: float, degrees_of_freedom: float) -> float:
    """Return the probability of a value above ``t``.

    Half the regularised incomplete beta function I_x(d/2, 1/2) at x = d / (d + t^2), NIST Digital
    Library of Mathematical Functions 8.17, https://dlmf.nist.gov/8.17.

    :raises ValueError: the degrees of freedom are not above 0.
    """
    if not degrees_of_freedom > 0:
        raise ValueError(f"degrees of freedom {degrees_of_freedom!r}: a number above 0 is needed")
    square = t * t
    x = degrees_of_freedom / (degrees_of_freedom + square)
    # The complement is computed apart: near x = 1 the difference 1 - x loses its digits.
    tail = 0.5 * _beta(x, square / (degrees_of_freedom + square), degrees_of_freedom / 2, 0.5)
    return tail if t >= 0 else 1 - tail


def f_upper_tail(f: float, above: float, below: float) -> float:
    """Return the probability that F, a quotient of two mean squares, is larger than ``f``.

    I_x(d2/2, d1/2) at x = d2 / (d2 + d1 f), NIST Digital Library of Mathematical Functions 8.17.

    :param f: 0 or above; ``above`` and ``below`` the degrees of freedom d1 and d2, above 0.
    """
    whole = below + above * f
    return _beta(below / whole, above * f / whole, below / 2, above / 2)


@lru_cache(maxsize=256)
def quantile(probability: float, degrees_of_freedom: float) -> float:
    """Return the value below which lies ``probability`` of the distribution, by bisection.

    :raises ValueError: the probability is not between 0 and 1; degrees of freedom not above 0.
    """
    if not 0 < probability < 1:
        raise ValueError(f"probability {probability!r}: a number between 0 and 1 is needed")
    if probability < 0.5:
        return -quantile(1 - probability, degrees_of_freedom)
    low, high = 0.0, 1.0
    while upper_tail(high, degrees_of_freedom) > 1 - probability:
        low, high = high, high * 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if upper_tail(middle, degrees_of_freedom) > 1 - probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta(x: float, complement: float, a: float, b: float) -> float:
    """Return I_x(a, b), from the side on which the continued fraction converges faster.

    :param complement: 1 - x.
    """
    if x <= 0 or complement <= 0:
        return 0.0 if x <= 0 else 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log_front + a * math.log(x) + b * math.log(complement))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(complement, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of DLMF 8.17.22, evaluated as Lentz (1976) does."""
    value, upper, lower = 1.0, 1.0, 0.0
    for term in range(_MOST_TERMS):
        m = term // 2
        if term == 0:
            numerator = 1.0
        elif term % 2:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        lower = 1 / _not_zero(1 + numerator * lower)
        upper = _not_zero(1 + numerator / upper)
        value *= upper * lower
        if abs(upper * lower - 1) < _PRECISION:
            break
    return value - 1


def _not_zero(number: float) -> float:
    return number if abs(number) > _LEAST else _LEAST
