"""Does a speed drift over hours? Kendall's test for a trend, and the slope of Theil and Sen.

Both go by ranks and medians: the rate of false alarms does not depend on how the speeds are
distributed, and single slow repeats hardly move the slope. Simulated with 10 to 60 repeats, 800 to
2,500 draws each: at a level of 0.99 repeats without a trend are said to drift in 0.2 to 1.0 % of
draws, normal, lognormal or with 2 % of them slow by 3 % (tests/unit/stats/test_drift.py has the
small form).

The test assumes that repeats are independent. Where a repeat is like the one before it (an
autocorrelation of 0.3) the rate is 2 to 8 % with 12 to 200 repeats.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from statistics import NormalDist, median
from typing import List, Optional, Sequence, Tuple

__all__ = ["LEAST", "LEVEL", "Drift", "drift"]

# Below that the normal approximation of Kendall's sum is not good enough at this level.
LEAST = 10
LEVEL = 0.99
# Above that, means of consecutive repeats are tested: the number of pairs grows with the square.
_MOST = 200


@dataclass(frozen=True)
class Drift:
    """The change of the speed from the first to the last repeat, as a share (-0.01: 1 % slower).

    ``low`` and ``high`` are its confidence interval; ``p_value`` is two-sided; ``n`` the number of
    repeats.
    """

    change: float
    low: float
    high: float
    p_value: float
    n: int


def drift(times: Sequence[float], speeds: Sequence[float], level: float = LEVEL) -> Optional[Drift]:
    """Return the drift of speeds over time, None with fewer than LEAST repeats or of one time.

    Kendall, "A new measure of rank correlation", Biometrika 30 (1938), the variance with ties
    after Kendall, Rank Correlation Methods (1975), 4; the interval by Sen, "Estimates of the
    regression coefficient based on Kendall's tau", JASA 63 (1968). Logarithms, so that the change
    is relative.

    :param times: of each repeat, in any unit.
    :param speeds: of each repeat, above 0.
    :param level: of the interval.
    """
    points = sorted(zip(times, (math.log(speed) for speed in speeds)))
    if len(points) < LEAST or points[0][0] == points[-1][0]:
        return None
    span = points[-1][0] - points[0][0]
    points = _blocks(points)
    pairs = [
        ((later - at), (value - before))
        for (at, before), (later, value) in itertools.combinations(points, 2)
    ]
    total = sum((rise > 0) - (rise < 0) for run, rise in pairs if run)
    error = math.sqrt(_variance(points))
    z = max(0, abs(total) - 1) / error if error else 0.0
    slopes = sorted(rise / run for run, rise in pairs if run)
    reach = NormalDist().inv_cdf((1 + level) / 2) * error
    low = max(0, math.floor((len(slopes) - reach) / 2) - 1)
    high = min(len(slopes) - 1, math.ceil((len(slopes) + reach) / 2))
    change, least, most = (
        math.expm1(slope * span) for slope in (median(slopes), slopes[low], slopes[high])
    )
    return Drift(change, least, most, math.erfc(z / math.sqrt(2)), len(speeds))


def _variance(points: Sequence[Tuple[float, float]]) -> float:
    """Return the variance of Kendall's sum without a trend, with ties."""
    n = len(points)
    sizes = [size for values in zip(*points) for size in Counter(values).values()]
    tied = sum(size * (size - 1) * (2 * size + 5) for size in sizes)
    return max(0.0, (n * (n - 1) * (2 * n + 5) - tied) / 18)


def _blocks(points: Sequence[Tuple[float, float]]) -> List[Tuple[float, float]]:
    """Return the points, or means of consecutive ones where there are too many."""
    count, size = min(len(points), _MOST), len(points)
    blocks = [points[size * at // count : size * (at + 1) // count] for at in range(count)]
    return [
        (
            math.fsum(at for at, _ in block) / len(block),
            math.fsum(value for _, value in block) / len(block),
        )
        for block in blocks
    ]
