"""Named rounding rules: how published figures were rounded to the digits that they print."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Decimal
from typing import Any, Callable, Dict

__all__ = ["ROUNDINGS", "round_as", "round_speed"]


def _numpy(places: int) -> Callable[[float], float]:
    """Return the rule of numpy.round: scale, round half to even, scale back.

    Source of ``numpy_2``: it is the only rule that gives every median printed by the reference
    efforts (5099.425 -> 5099.42, 352.715 -> 352.72, where Python's ``round`` gives 352.71).
    """
    scale = 10**places

    def rule(value: float) -> float:
        scaled = value * scale
        return round(scaled) / scale if math.isfinite(scaled) else value

    return rule


def _python(places: int) -> Callable[[float], float]:
    """Return Python's ``round``: correct rounding of the exact binary value."""

    def rule(value: float) -> float:
        return round(value, places)

    return rule


def _truncate(places: int) -> Callable[[float], float]:
    """Return a rule that truncates the shortest decimal form: 3038.7306 gives 3038.730.

    Source of ``truncate_3``: the TensorFlow and Paddle tables of PerformanceReport@66245fd.
    """
    unit = Decimal(1).scaleb(-places)

    def rule(value: float) -> float:
        exact = Decimal(repr(value))
        return float(exact.quantize(unit, rounding=ROUND_DOWN)) if abs(exact) < 10**20 else value

    return rule


def _significant(digits: int) -> Callable[[float], float]:
    """Return the rule ``%.<digits>g``; ``g5`` is that of the MXNet benchmark's summary table."""

    def rule(value: float) -> float:
        return float(f"{value:.{digits}g}")

    return rule


def _none(value: float) -> float:
    """Return the value with every digit."""
    return value


ROUNDINGS: Dict[str, Callable[[float], float]] = {
    "none": _none,
    "numpy_0": _numpy(0),
    "numpy_1": _numpy(1),
    "numpy_2": _numpy(2),
    "numpy_3": _numpy(3),
    "numpy_4": _numpy(4),
    "python_1": _python(1),
    "python_2": _python(2),
    "python_3": _python(3),
    "python_4": _python(4),
    "truncate_0": _truncate(0),
    "truncate_2": _truncate(2),
    "truncate_3": _truncate(3),
    "g4": _significant(4),
    "g5": _significant(5),
    "g6": _significant(6),
}


def round_as(value: Any, rounding: str = "numpy_2") -> float:
    """Return one number rounded by the rule ``rounding`` (a key of :data:`ROUNDINGS`).

    :raises ValueError: unknown rule, or ``value`` is not a finite number.
    """
    if rounding not in ROUNDINGS:
        raise ValueError(f"no rounding named {rounding!r}: use one of {', '.join(ROUNDINGS)}")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"cannot round {value!r} by {rounding}: a finite number is needed")
    return float(ROUNDINGS[rounding](float(value)))


def round_speed(value: Any, rounding: str = "numpy_2") -> float:
    """Return a throughput rounded by a rule; one below 1 keeps three significant digits at least.

    A large model on CPUs needs minutes for a sample, of which no two places are left.

    :raises ValueError: as :func:`round_as`.
    """
    rounded, digits = round_as(value, rounding), _significant(3)(float(value))
    return digits if abs(value) < 1 and abs(digits - value) < abs(rounded - value) else rounded
