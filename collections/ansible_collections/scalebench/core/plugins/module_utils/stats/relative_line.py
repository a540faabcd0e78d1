"""A straight line through times whose noise is a share of the time, and whether it fits them."""

from __future__ import annotations

import math
from typing import Callable, Mapping, NamedTuple, Sequence, Tuple, TypeVar

from .statistics import mean
from .student_t import f_upper_tail

__all__ = ["Line", "fitted_line"]

Place = TypeVar("Place")
# The probability of a false word that the line does not fit.
_MISFIT = 0.05
# Relative error of a time that computing it makes.
_ROUNDING = 1e-12


class Line(NamedTuple):
    """t = first u + second v, with the variances of both and their covariance.

    ``freedom``: degrees of freedom of these; 0 where nothing tells the noise. ``holds``: False
    where the times do not lie on a line.
    """

    first: float
    second: float
    of_first: float
    of_second: float
    both: float
    freedom: int
    holds: bool


def fitted_line(
    times: Mapping[Place, Sequence[float]], basis: Callable[[Place], Tuple[float, float]]
) -> Line:
    """Return the line by least squares, a time weighted by the inverse square of the mean there.

    These are the weights of a noise that is a share of the time (Carroll and Ruppert 1988,
    Transformation and Weighting in Regression, chapter 2). Where the k means lie further from the
    line than repeats from their mean explain (F test of lack of fit, 5 %), their distance is the
    noise, with k - 2 degrees of freedom: more repeats do not make a law that does not hold exact.

    :param times: above 0, of each repeat by its place x; at two places or more.
    :param basis: (u, v) of a place.
    """
    points = [
        (*basis(place), value, mean(values) ** -2)
        for place, values in times.items()
        for value in values
    ]
    # Normal equations.
    uu = math.fsum(w * u * u for u, _, _, w in points)
    uv = math.fsum(w * u * v for u, v, _, w in points)
    vv = math.fsum(w * v * v for _, v, _, w in points)
    ut = math.fsum(w * u * value for u, _, value, w in points)
    vt = math.fsum(w * v * value for _, v, value, w in points)
    determinant = uu * vv - uv * uv
    first, second = (vv * ut - uv * vt) / determinant, (uu * vt - uv * ut) / determinant
    rest = math.fsum(w * (value - first * u - second * v) ** 2 for u, v, value, w in points)
    within = math.fsum((value / mean(of) - 1) ** 2 for of in times.values() for value in of)
    noise, freedom, holds = _noise(rest, within, len(points), sum(map(bool, times.values())))
    variance = noise / determinant
    return Line(first, second, variance * vv, variance * uu, -variance * uv, freedom, holds)


def _noise(rest: float, within: float, n: int, places: int) -> Tuple[float, int, bool]:
    """Return the variance of a time, its degrees of freedom, and whether the line may hold.

    :param rest: squares of the relative distances from the line; ``within`` from the means.
    """
    of_means, of_repeats = places - 2, n - places
    if n <= 2:
        return 0.0, 0, True
    if of_means and of_repeats:
        misfit = max(0.0, rest - within) / of_means
        of_one = max(within / of_repeats, _ROUNDING**2)
        if f_upper_tail(misfit / of_one, of_means, of_repeats) < _MISFIT:
            return misfit, of_means, False
    return rest / (n - 2), n - 2, True
