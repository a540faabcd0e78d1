"""Outliers of a series, and the places where it changes its level.

Two kinds of change are searched: a level that changes and stays (the maximum of the CUSUM
statistic over all splits) and an episode, a level that changes and returns (the same over all
pairs of places; Olshen et al. 2004, Biostatistics 5, 557, circular binary segmentation). Each is
tested against random permutations of the values, which assumes nothing about their distribution:
without a change every order is equally likely (Pesarin and Salmaso 2010). A series that changed is
cut there and its pieces are searched again (binary segmentation, Vostrikova 1981), so a series
without a change is marked no more often than the first tests allow. A single value far from both
its neighbours is left out first: it is not a change, and would hide one.
"""

from __future__ import annotations

import math
import random
import statistics
from typing import Callable, List, Optional, Sequence, Tuple

__all__ = ["ALPHA", "CUT", "LEAST", "LEAST_FOR_OUTLIERS", "change_points", "outliers"]

# Iglewicz and Hoaglin 1993, How to detect and handle outliers: modified z-scores above this.
CUT = 3.5
# The median absolute deviation of normal values times this is their standard deviation.
MAD_TO_SD = 1 / 0.6745
# Normal values marked in error, simulated: 5 % of 5 values, 2 % of 8, 0.7 % of 20.
LEAST_FOR_OUTLIERS = 8
# The largest fraction of series without a change that are marked; simulated, with normal noise.
ALPHA = 0.05
# Level of the test for each kind of change; the rest of ALPHA allows for values left out.
_LEVEL = 0.02
# Fewer values have too few permutations: of 8, split in 4 and 4, 2 of 70 are as extreme.
LEAST = 9
# A single value apart is an outlier until a second one agrees.
_SHORTEST = 2
_ORDERS = 1999
# The same values give the same answer, so that a second run changes nothing.
_SEED = 20041001
Places = Tuple[int, ...]


def outliers(values: Sequence[float]) -> List[int]:
    """Return the indexes of the values whose modified z-score is above 3.5.

    The score is 0.6745 (value - median) / MAD. The list is empty for fewer than
    ``LEAST_FOR_OUTLIERS`` values, and where more than half of them are equal, so that MAD is 0.

    :param values: of one quantity at one level, in any unit and order.
    """
    if len(values) < LEAST_FOR_OUTLIERS:
        return []
    centre = statistics.median(values)
    scale = MAD_TO_SD * statistics.median(abs(value - centre) for value in values)
    return [
        index for index, value in enumerate(values) if scale and abs(value - centre) > CUT * scale
    ]


def change_points(values: Sequence[float]) -> List[int]:
    """Return the indexes, in order, of the first value after each change.

    Fewer than ``LEAST`` values give an empty list.

    :param values: of one quantity in order of time, in any unit.
    """
    kept = _without_spikes(values)
    return sorted(kept[place] for place in _search([values[index] for index in kept], 0))


def _without_spikes(values: Sequence[float]) -> List[int]:
    """Return the indexes of all values except those far from both neighbours.

    "Far" is defined as for outliers, with the noise estimated from the steps between neighbours,
    which a change of level does not widen. A step between two values scatters sqrt(2) times as
    much as a value.
    """
    steps = [abs(values[index] - values[index - 1]) for index in range(1, len(values))]
    far = CUT * MAD_TO_SD * statistics.median(steps) / math.sqrt(2) if steps else 0
    if not far:
        return list(range(len(values)))
    # The first and the last value have one neighbour only.
    sides = zip([steps[0], *steps], [*steps, steps[-1]])
    return [index for index, near in enumerate(sides) if min(near) <= far]


def _search(values: Sequence[float], start: int) -> List[int]:
    if len(values) < LEAST or min(values) == max(values):
        return []
    places = _tested(values, _best_split) or _tested(values, _best_episode)
    if not places:
        return []
    changes = [start + place for place in places]
    for low, high in zip([0, *places], [*places, len(values)]):
        changes += _search(values[low:high], start + low)
    return changes


def _tested(
    values: Sequence[float], statistic: Callable[[Sequence[float]], Tuple[float, Places]]
) -> Optional[Places]:
    """Return the places of the greatest statistic where it is significant, else None.

    p is (permutations at least as extreme + 1) / (permutations + 1), which keeps the level even
    with few of them (Phipson and Smyth 2010). The loop stops as soon as p is too large (Besag and
    Clifford 1991).
    """
    observed, places = statistic(values)
    observed *= 1 - 1e-9
    most = int(_LEVEL * (_ORDERS + 1)) - 1
    chance = random.Random(_SEED)
    order = list(values)
    extreme = 0
    for _ in range(_ORDERS):
        chance.shuffle(order)
        extreme += statistic(order)[0] >= observed
        if extreme > most:
            return None
    return places


def _best_split(values: Sequence[float]) -> Tuple[float, Places]:
    """Return the greatest statistic of a split in two, and its place."""
    n = len(values)
    sums = _sums(values)
    return max(
        (sums[cut] ** 2 / (cut * (n - cut)), (cut,)) for cut in range(_SHORTEST, n - _SHORTEST + 1)
    )


def _best_episode(values: Sequence[float]) -> Tuple[float, Places]:
    """Return the greatest statistic of a piece in the middle against the rest, and its ends."""
    n = len(values)
    sums = _sums(values)
    weights = [length * (n - length) for length in range(n)]
    best, place = -1.0, (0, 0)
    for start in range(_SHORTEST, n - 2 * _SHORTEST + 1):
        before = sums[start]
        for end in range(start + _SHORTEST, n - _SHORTEST + 1):
            statistic = (sums[end] - before) ** 2 / weights[end - start]
            if statistic > best:
                best, place = statistic, (start, end)
    return best, place


def _sums(values: Sequence[float]) -> List[float]:
    """Return the cumulative sums (CUSUM) of the first 0, 1, 2, … values minus their mean."""
    mean = sum(values) / len(values)
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value - mean)
    return sums
