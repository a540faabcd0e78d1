"""Statistics of repeats: centre, spread, and an interval of the median with its n stated."""

from __future__ import annotations

import math
import statistics as stdlib
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.scalebench.core.plugins.module_utils.stats import intervals

__all__ = ["finite", "mean", "median", "median_interval", "ratio_interval", "spread", "summarise"]


def finite(values: Any, what: str = "values") -> List[float]:
    """Return the numbers of a list, or of a mapping's values, as floats.

    :raises ValueError: not a list or mapping, empty, or one item is not a finite number.
    """
    if isinstance(values, Mapping):
        values = list(values.values())
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"{what} {values!r}: a list of numbers is needed")
    if not values:
        raise ValueError(f"no {what}: at least one number is needed")
    for index, value in enumerate(values):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise ValueError(f"{what}[{index}] is {value!r}: a finite number is needed")
    return [float(value) for value in values]


def mean(values: Any) -> float:
    """Return the arithmetic mean, not rounded.

    :raises ValueError: see :func:`finite`.
    """
    numbers = finite(values)
    return math.fsum(numbers) / len(numbers)


def median(values: Any) -> float:
    """Return the median, not rounded; of an even count the mean of the two middle values.

    :raises ValueError: see :func:`finite`.
    """
    return float(stdlib.median(finite(values)))


def spread(values: Any) -> Dict[str, Any]:
    """Return n, sd (of a sample: n - 1), cv (sd / mean), minimum, maximum, range; not rounded.

    ``sd`` and ``cv`` are None with one value, ``cv`` also where the mean is 0.

    :raises ValueError: see :func:`finite`.
    """
    numbers = finite(values)
    centre = mean(numbers)
    sd: Optional[float] = None
    if len(numbers) > 1:
        sd = math.sqrt(math.fsum((x - centre) ** 2 for x in numbers) / (len(numbers) - 1))
    return {
        "n": len(numbers),
        "sd": sd,
        "cv": sd / abs(centre) if sd is not None and centre != 0 else None,
        "minimum": min(numbers),
        "maximum": max(numbers),
        "range": max(numbers) - min(numbers),
    }


def _checked_level(level: Any) -> float:
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise ValueError(f"level {level!r}: a number between 0 and 1 is needed, as 0.95")
    return float(level)


def median_interval(values: Any, level: float = 0.95, method: str = "bootstrap") -> Dict[str, Any]:
    """Return low, high, level, method, n, reason: an interval of the median of the repeats.

    ``bootstrap`` is the exact percentile bootstrap: deterministic, without a seed. ``order`` is
    the interval between two order statistics; it adds the ``coverage`` that it guarantees. Where
    none can be given, low and high are None and ``reason`` says why.

    :raises ValueError: see :func:`finite`; no such method; level not between 0 and 1.
    """
    numbers, level = finite(values), _checked_level(level)
    if method == "bootstrap":
        return dict(intervals.bootstrap_median(numbers, level), method=method)
    if method == "order":
        return dict(intervals.order_statistics(numbers, level), method=method)
    raise ValueError(f"no method named {method!r} for an interval: use bootstrap or order")


def ratio_interval(values: Any, base: Any, level: float = 0.95) -> Dict[str, Any]:
    """Return the exact percentile bootstrap interval of median(values) / median(base).

    :raises ValueError: see :func:`finite`; a base of 0 or less; level not between 0 and 1.
    """
    numbers, below, level = finite(values), finite(base, "base"), _checked_level(level)
    if min(below) <= 0:
        raise ValueError(f"base {min(below)!r}: a ratio needs a base above 0")
    return dict(intervals.bootstrap_ratio(numbers, below, level), method="bootstrap")


def summarise(values: Any, level: float = 0.95) -> Dict[str, Any]:
    """Return mean, median, what :func:`spread` returns, and ``interval``, of the median.

    :raises ValueError: see :func:`finite` and :func:`median_interval`.
    """
    numbers = finite(values)
    centre = {"mean": mean(numbers), "median": median(numbers)}
    return {**centre, **spread(numbers), "interval": median_interval(numbers, level)}
