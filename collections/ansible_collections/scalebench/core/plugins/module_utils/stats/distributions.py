"""Tails and quantiles of Student's t, F and chi-square in pure Python."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

__all__ = [
    "CERTAIN",
    "chi_square_lower_tail",
    "chi_square_quantile",
    "f_upper_tail",
    "t_quantile",
    "t_upper_tail",
]

# Degrees of freedom of what is as good as known.
CERTAIN = 10_000
_LEAST = 1e-300
_PRECISION = 1e-15
_MOST_TERMS = 10_000
_SERIES_END = 1e-16


def t_upper_tail(t: float, degrees_of_freedom: float) -> float:
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
def t_quantile(probability: float, degrees_of_freedom: float) -> float:
    """Return the value below which lies ``probability`` of the distribution, by Newton's method.

    It begins at the quantile of the normal distribution, which lies nearer to 0. The upper tail is
    convex there, so that each step ends short of the quantile or on it. Infinite where the quantile
    is too large for a number, with a small part of one degree of freedom.

    :raises ValueError: the probability is not between 0 and 1; degrees of freedom not above 0.
    """
    if not 0 < probability < 1:
        raise ValueError(f"probability {probability!r}: a number between 0 and 1 is needed")
    if probability < 0.5:
        return -t_quantile(1 - probability, degrees_of_freedom)
    value = NormalDist().inv_cdf(probability)
    while True:
        density = _density(value, degrees_of_freedom)
        if not density:
            return math.inf
        step = (t_upper_tail(value, degrees_of_freedom) - (1 - probability)) / density
        value += step
        if not step > 1e-13 * value:
            return value


def chi_square_lower_tail(x: float, degrees_of_freedom: float) -> float:
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
    while term > _SERIES_END * total:
        a += 1
        term *= half / a
        total += term
    a = degrees_of_freedom / 2
    return min(1.0, total * math.exp(a * math.log(half) - half - math.lgamma(a + 1)))


@lru_cache(maxsize=256)
def chi_square_quantile(probability: float, degrees_of_freedom: float) -> float:
    """Return the value below which lies ``probability`` of the distribution, by bisection.

    :raises ValueError: the probability is not between 0 and 1; degrees of freedom not above 0.
    """
    if not 0 < probability < 1:
        raise ValueError(f"probability {probability!r}: a number between 0 and 1 is needed")
    low, high = 0.0, 1.0
    while chi_square_lower_tail(high, degrees_of_freedom) < probability:
        low, high = high, high * 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if chi_square_lower_tail(middle, degrees_of_freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _density(t: float, degrees_of_freedom: float) -> float:
    half = (degrees_of_freedom + 1) / 2
    log_front = math.lgamma(half) - math.lgamma(degrees_of_freedom / 2)
    log_power = half * math.log1p(t * t / degrees_of_freedom)
    return math.exp(log_front - log_power) / math.sqrt(math.pi * degrees_of_freedom)


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
    value, upper, lower = 2.0, 2.0, 1.0
    for m in range(_MOST_TERMS):
        begin = a + 2 * m
        for numerator in (
            -(a + m) * (a + b + m) * x / (begin * (begin + 1)),
            (m + 1) * (b - m - 1) * x / ((begin + 1) * (begin + 2)),
        ):
            lower = 1 / ((1 + numerator * lower) or _LEAST)
            upper = (1 + numerator / upper) or _LEAST
            value *= upper * lower
        if abs(upper * lower - 1) < _PRECISION:
            break
    return value - 1
