"""The time of a message by its size: t = latency + bytes / bandwidth, with their errors."""

from __future__ import annotations

import math
from typing import Any, Dict, Mapping, Sequence

from .relative_line import Line, fitted_line
from .statistics import mean
from .student_t import quantile

__all__ = ["LEVEL", "hockney"]

LEVEL = 0.95
_LEAST_SIZES = 3


def hockney(seconds: Mapping[float, Sequence[float]], level: float = LEVEL) -> Dict[str, Any]:
    """Return latency and bandwidth of t = alpha + S / beta, as ``records.results.Hockney``.

    The law is that of Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2",
    Parallel Computing 20 (1994). It is fitted by :func:`relative_line.fitted_line`, where an
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
        **_figures(line, level),
        "holds": line.holds,
        "worst_bytes": int(worst),
        "worst": off[worst],
        "n": n,
        "reason": "" if line.holds else "the times do not follow the law",
    }


def _figures(line: Line, level: float) -> Dict[str, Any]:
    reach = quantile((1 + level) / 2, line.freedom)
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


_KEYS = (
    *("latency_seconds", "latency_error", "latency_low", "latency_high"),
    *("seconds_per_byte", "seconds_per_byte_error", "covariance", "bytes_per_second"),
    *("bytes_per_second_low", "bytes_per_second_high", "worst_bytes", "worst"),
)


def _nothing(n: int, reason: str) -> Dict[str, Any]:
    return {**dict.fromkeys(_KEYS), "freedom": 0, "holds": False, "n": n, "reason": reason}
