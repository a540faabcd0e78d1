"""Strong scaling by Amdahl's law: the serial share of the time, of one topology and of them all."""

from __future__ import annotations

import math
from typing import Any, Dict, Mapping, Optional, Sequence

from .relative_line import fitted_line
from .student_t import quantile

__all__ = ["LEVEL", "karp_flatt", "serial_share"]

LEVEL = 0.95


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

    The line through the times over 1/p is that of :func:`relative_line.fitted_line`. The interval
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
    square = quantile((1 + level) / 2, line.freedom) ** 2
    a = one**2 - square * line.of_first
    b = serial * one - square * line.both
    c = serial**2 - square * line.of_second
    if a <= 0:
        return {**found, "reason": found["reason"] or "the repeats scatter too much"}
    root = math.sqrt(max(0.0, b * b - a * c))
    return {**found, "low": (b - root) / a, "high": (b + root) / a}
