"""Laws of times, fitted by lines whose noise is a share of the time: Amdahl's and Hockney's."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar

from .distributions import f_upper_tail, t_quantile
from .statistics import mean

__all__ = ["LEVEL", "Line", "fitted_line", "hockney", "karp_flatt", "serial_share"]

LEVEL = 0.95
Place = TypeVar("Place")
# The probability of a false word that the line does not fit.
_MISFIT = 0.05
# Relative error of a time that computing it makes.
_ROUNDING = 1e-12
# Two sizes always lie on a line.
_LEAST_SIZES = 3
_KEYS = (
    *("latency_seconds", "latency_error", "latency_low", "latency_high"),
    *("seconds_per_byte", "seconds_per_byte_error", "covariance", "bytes_per_second"),
    *("bytes_per_second_low", "bytes_per_second_high", "worst_bytes", "worst"),
)


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


def karp_flatt(speedup: float, times: float) -> Optional[float]:
    """Return the serial share that a speed-up shows, None where there is nothing to share.

    Karp and Flatt 1990, "Measuring Parallel Processor Performance": (1/S - 1/p) / (1 - 1/p). It is
    the same at every p where Amdahl's law holds, grows where something else costs more with more
    devices (communication), and is below 0 where the speed-up is more than ideal.

    :param times: p, the devices as a multiple of those that the speed-up is relative to.
    """
    return None if times <= 1 else (1 / speedup - 1 / times) / (1 - 1 / times)


def serial_share(seconds: Mapping[float, Sequence[float]]) -> Dict[str, Any]:
    """Return the serial share s of Amdahl's law, T(p) = T(1) (s + (1 - s) / p), and its interval.

    The line through the times over 1/p is that of :func:`fitted_line`. The interval
    is Fieller's of the quotient of the line's two ends, by Student's t.

    :param seconds: of the same work, of each repeat by p, the devices as a multiple of the fewest.
    :returns: ``share``, ``low`` and ``high`` (None where unknown), ``n`` and ``reason``, which says
        why there is no interval, or that the law does not hold.
    """
    n = sum(map(len, seconds.values()))
    found: Dict[str, Any] = {"share": None, "low": None, "high": None, "n": n, "reason": ""}
    if sum(bool(times) for times in seconds.values()) < 2:
        return {**found, "reason": "one topology shows no law"}
    # T(p) = T(1) / p + serial (1 - 1/p).
    line = fitted_line(seconds, lambda times: (1 / times, 1 - 1 / times))
    one, serial = line.first, line.second
    found["share"] = serial / one
    if not line.freedom:
        return {**found, "reason": "one repeat of each shows no spread"}
    if not line.holds:
        found["reason"] = "the times do not follow the law"
    # The roots of (serial - s one)^2 = t^2 var(serial - s one).
    square = t_quantile((1 + LEVEL) / 2, line.freedom) ** 2
    a = one**2 - square * line.of_first
    b = serial * one - square * line.both
    c = serial**2 - square * line.of_second
    if a <= 0:
        return {**found, "reason": found["reason"] or "the repeats scatter too much"}
    root = math.sqrt(max(0.0, b * b - a * c))
    return {**found, "low": (b - root) / a, "high": (b + root) / a}


def hockney(seconds: Mapping[float, Sequence[float]]) -> Dict[str, Any]:
    """Return latency and bandwidth of t = alpha + S / beta, as ``records.results.Hockney``.

    The law is that of Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2",
    Parallel Computing 20 (1994). It is fitted by :func:`fitted_line`, where an
    error of 1 % counts the same at every size: without that the largest message would decide both.
    Intervals are by Student's t; that of the bandwidth is the inverse of that of 1 / beta, without
    an upper end where the seconds of a byte may be 0.

    :param seconds: above 0, of each repeat by the size in bytes.
    :returns: ``worst``, the share by which the mean at ``worst_bytes`` lies above the law (below 0:
        under it), the largest of all sizes; without a latency or a bandwidth above 0, as with fewer
        than three sizes, everything is None and ``reason`` says why.
    """
    n = sum(map(len, seconds.values()))
    sizes = sorted(size for size, of in seconds.items() if of)
    if len(sizes) < _LEAST_SIZES:
        return _nothing(n, f"{len(sizes)} size(s), and the law takes {_LEAST_SIZES} to be checked")
    line = fitted_line(seconds, lambda size: (1.0, size))
    if line.first <= 0 or line.second <= 0:
        what = "latency" if line.first <= 0 else "time of a byte"
        return _nothing(n, f"the times do not follow the law: its {what} would be below 0")
    off = {size: mean(seconds[size]) / (line.first + line.second * size) - 1 for size in sizes}
    worst = max(sizes, key=lambda size: abs(off[size]))
    return {
        **_figures(line),
        "holds": line.holds,
        "worst_bytes": int(worst),
        "worst": off[worst],
        "n": n,
        "reason": "" if line.holds else "the times do not follow the law",
    }


def _figures(line: Line) -> Dict[str, Any]:
    reach = t_quantile((1 + LEVEL) / 2, line.freedom)
    of_latency, of_byte = math.sqrt(line.of_first), math.sqrt(line.of_second)
    low, high = line.second - reach * of_byte, line.second + reach * of_byte
    return {
        "latency_seconds": line.first,
        "latency_error": of_latency,
        "latency_low": line.first - reach * of_latency,
        "latency_high": line.first + reach * of_latency,
        "seconds_per_byte": line.second,
        "seconds_per_byte_error": of_byte,
        "covariance": line.both,
        "freedom": line.freedom,
        "bytes_per_second": 1 / line.second,
        "bytes_per_second_low": 1 / high,
        "bytes_per_second_high": 1 / low if low > 0 else None,
    }


def _nothing(n: int, reason: str) -> Dict[str, Any]:
    return {**dict.fromkeys(_KEYS), "freedom": 0, "holds": False, "n": n, "reason": reason}
