"""Statistics of repeats: centre, spread, and an interval of the median with its coverage."""

from __future__ import annotations

import math
import statistics as stdlib
from typing import Any, Dict, List, Mapping, Optional

__all__ = [
    "NORMAL_MAD",
    "finite",
    "mad_scale",
    "mean",
    "median",
    "median_interval",
    "spread",
    "summarise",
]

# Of the normal distribution: standard deviation / median of the absolute deviations.
NORMAL_MAD = 1.4826
# What the median absolute deviation of so many values is too small by: C. Croux, P. J. Rousseeuw,
# Time-efficient algorithms for two highly robust estimators of scale, COMPSTAT 1992.
_FEW = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}


def mad_scale(count: int) -> float:
    """Return what makes the median absolute deviation of normal values their standard deviation.

    On average, of ``count`` values (2 or more) around their median.
    """
    return NORMAL_MAD * (_FEW.get(count) or count / (count - 0.8))


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
    """Return ``n``, ``sd``, ``cv``, ``minimum``, ``maximum`` and ``range``, not rounded.

    ``sd`` is the sample standard deviation (n - 1), ``cv`` is sd / |mean|. Both are None for one
    value; ``cv`` is None as well where the mean is 0.

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


def median_interval(values: Any, level: float = 0.95) -> Dict[str, Any]:
    """Return the narrowest interval of the median between two values whose coverage is ``level``.

    The interval from the k-th lowest to the k-th highest of n values covers the true median with
    the probability 1 - 2 P(fewer than k heads in n fair coin tosses), whatever the distribution
    (David and Nagaraja 2003, Order Statistics, 7.1). Where even all values cover less (five cover
    93.75 %, three 75 %), they are the interval, and ``coverage`` says so.

    :param level: between 0 and 1.
    :returns: ``low``, ``high``, ``coverage`` (of the true median, as a share), ``level``, ``n`` and
        ``reason``; of one value low, high and coverage are None, and ``reason`` says why.
    :raises ValueError: see :func:`finite`; level not between 0 and 1.
    """
    ordered, level = sorted(finite(values)), _checked_level(level)
    n = len(ordered)
    asked = {"level": level, "n": n}
    if n < 2:
        return {"low": None, "high": None, "coverage": None, **asked, "reason": "one value"}
    # Whole numbers: above 1023 values they are larger than any float.
    k, ways, below, every = 1, n, 1, 2**n
    while k < n // 2 and 1.0 - 2 * (below + ways) / every >= level:
        below += ways
        k += 1
        ways = ways * (n - k + 1) // k
    bounds = {"low": ordered[k - 1], "high": ordered[n - k], "coverage": 1.0 - 2 * below / every}
    return {**bounds, **asked, "reason": ""}


def summarise(values: Any, level: float = 0.95) -> Dict[str, Any]:
    """Return ``mean``, ``median``, the keys of :func:`spread`, and ``interval`` of the median.

    :raises ValueError: see :func:`finite` and :func:`median_interval`.
    """
    numbers = finite(values)
    centre = {"mean": mean(numbers), "median": median(numbers)}
    return {**centre, **spread(numbers), "interval": median_interval(numbers, level)}
