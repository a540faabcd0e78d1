"""Strong scaling by Amdahl's law: the serial share of the time, of one topology and of them all."""

from __future__ import annotations

import math
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from .statistics import mean
from .student_t import f_upper_tail, quantile

__all__ = ["LEVEL", "karp_flatt", "serial_share"]

LEVEL = 0.95


# The probability of a false word that the law does not hold.
_MISFIT = 0.05
# Relative error of a time that computing it makes.
_ROUNDING = 1e-12


class _Line(NamedTuple):
    """T(p) = one / p + serial (1 - 1/p), fitted: its two ends and their covariance."""

    serial: float
    one: float
    of_serial: float
    of_one: float
    both: float
    freedom: int
    holds: bool


def karp_flatt(speedup: float, times: float) -> Optional[float]:
    """Return the serial share that a speed-up shows, None where there is nothing to share.

    Karp and Flatt 1990, "Measuring Parallel Processor Performance": (1/S - 1/p) / (1 - 1/p). It is
    the same at every p where Amdahl's law holds, grows where something else costs more with more
    devices (communication), and is below 0 where the speed-up is more than ideal.

    :param times: p, the devices as a multiple of those that the speed-up is relative to.
    """
    return None if times <= 1 else (1 / speedup - 1 / times) / (1 - 1 / times)


def serial_share(seconds: Mapping[float, Sequence[float]], level: float = LEVEL) -> Dict[str, Any]:
    """Return the serial share s of Amdahl's law, T(p) = T(1) (s + (1 - s) / p), and its interval.

    The line through the times over 1/p by least squares, a time weighted by the inverse square of
    the mean at its p, as noise is relative. The interval is Fieller's of the quotient of the line's
    two ends, by Student's t with n - 2 degrees of freedom. Where the k means lie further from the
    line than repeats from their mean explain (F test of lack of fit, 5 %), their distance is the
    noise, with k - 2 degrees of freedom: more repeats do not make a law that does not hold exact.

    :param seconds: of the same work, of each repeat by p, the devices as a multiple of the fewest.
    :returns: ``share``, ``low`` and ``high`` (None where unknown), ``n`` and ``reason``, which says
        why there is no interval, or that the law does not hold.
    """
    n = sum(map(len, seconds.values()))
    found: Dict[str, Any] = {"share": None, "low": None, "high": None, "n": n, "reason": ""}
    if sum(bool(times) for times in seconds.values()) < 2:
        return {**found, "reason": "one topology shows no law"}
    line = _fitted(seconds, n)
    found["share"] = line.serial / line.one
    if not line.freedom:
        return {**found, "reason": "one repeat of each shows no spread"}
    if not line.holds:
        found["reason"] = "the times do not follow the law"
    # The roots of (serial - s one)^2 = t^2 var(serial - s one).
    square = quantile((1 + level) / 2, line.freedom) ** 2
    a = line.one**2 - square * line.of_one
    b = line.serial * line.one - square * line.both
    c = line.serial**2 - square * line.of_serial
    if a <= 0:
        return {**found, "reason": found["reason"] or "the repeats scatter too much"}
    root = math.sqrt(max(0.0, b * b - a * c))
    return {**found, "low": (b - root) / a, "high": (b + root) / a}


def _fitted(seconds: Mapping[float, Sequence[float]], n: int) -> _Line:
    """Return the weighted line of T over 1/p, whose ends are at 1/p = 0 and 1/p = 1."""
    points = [
        (1 / times, value, mean(values) ** -2)
        for times, values in seconds.items()
        for value in values
    ]
    # Normal equations of T = one x + serial (1 - x).
    xx = math.fsum(w * x * x for x, _, w in points)
    xy = math.fsum(w * x * (1 - x) for x, _, w in points)
    yy = math.fsum(w * (1 - x) ** 2 for x, _, w in points)
    xt = math.fsum(w * x * value for x, value, w in points)
    yt = math.fsum(w * (1 - x) * value for x, value, w in points)
    determinant = xx * yy - xy * xy
    one, serial = (yy * xt - xy * yt) / determinant, (xx * yt - xy * xt) / determinant
    rest = math.fsum(w * (value - one * x - serial * (1 - x)) ** 2 for x, value, w in points)
    within = math.fsum((value / mean(of) - 1) ** 2 for of in seconds.values() for value in of)
    topologies = sum(bool(of) for of in seconds.values())
    noise, freedom, holds = _noise(rest, within, n, topologies)
    variance = noise / determinant
    return _Line(serial, one, variance * xx, variance * yy, -variance * xy, freedom, holds)


def _noise(rest: float, within: float, n: int, topologies: int) -> Tuple[float, int, bool]:
    """Return the variance of a time, its degrees of freedom, and whether the law may hold.

    :param rest: squares of the relative distances from the line; ``within`` from the means.
    """
    of_means, of_repeats = topologies - 2, n - topologies
    if n <= 2:
        return 0.0, 0, True
    if of_means and of_repeats:
        misfit = max(0.0, rest - within) / of_means
        of_one = max(within / of_repeats, _ROUNDING**2)
        if f_upper_tail(misfit / of_one, of_means, of_repeats) < _MISFIT:
            return misfit, of_means, False
    return rest / (n - 2), n - 2, True
