"""Where a series of campaigns changed its level: permutation tests and binary segmentation.

Two shapes are looked for: a level that changes and stays (the maximum of the CUSUM statistic over
all splits) and an episode, a level that changes and comes back (the same over all pairs of
places; Olshen et al. 2004, Biostatistics 5, 557, circular binary segmentation). Each is held
against random orders of the same values, which needs no assumption on their distribution: only
that without a change any order is as likely (Pesarin and Salmaso 2010). A series that changed is
cut there and its pieces are searched again (Vostrikova 1981), so a series without any change is
marked no more often than its first tests say. A lone value far from both its neighbours is left
out first: it would hide a change, and is none.
"""

from __future__ import annotations

import math
import random
import statistics
from typing import Callable, List, Optional, Sequence, Tuple

from .outliers import CUT, MAD_TO_SD

__all__ = ["ALPHA", "LEAST", "change_points"]

# Share of the series without a change that are marked, at most: simulated, with normal noise.
ALPHA = 0.05
# Level of the test of either shape; the rest of ALPHA is for the values that are left out.
_LEVEL = 0.02
# Fewer values have too few orders: of 8, split in 4 and 4, 2 of 70 are as extreme.
LEAST = 9
# One value apart is an outlier until a second one agrees.
_SHORTEST = 2
_ORDERS = 1999
# The same values give the same answer, so that a second run changes nothing.
_SEED = 20041001

Places = Tuple[int, ...]


def change_points(values: Sequence[float]) -> List[int]:
    """Return the indexes, in order, of the first value after each change; none below ``LEAST``.

    :param values: of one quantity in order of time, in any unit.
    """
    kept = _without_spikes(values)
    return sorted(kept[place] for place in _search([values[index] for index in kept], 0))


def _without_spikes(values: Sequence[float]) -> List[int]:
    """Return the indexes of all values but those far from both neighbours.

    Far is as for outliers, with the scale of the noise from the steps between neighbours: a level
    that changed does not widen it. A step of two noisy values scatters sqrt(2) times as much.
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
    found = [start + place for place in places]
    for low, high in zip([0, *places], [*places, len(values)]):
        found += _search(values[low:high], start + low)
    return found


def _tested(
    values: Sequence[float], statistic: Callable[[Sequence[float]], Tuple[float, Places]]
) -> Optional[Places]:
    """Return the places of the greatest statistic where it is significant, else None.

    p is (orders at least as extreme + 1) / (orders + 1), which keeps the level with few of them
    (Phipson and Smyth 2010). It stops where p can no longer be small (Besag and Clifford 1991).
    """
    seen, places = statistic(values)
    seen *= 1 - 1e-9
    most = int(_LEVEL * (_ORDERS + 1)) - 1
    chance = random.Random(_SEED)
    order = list(values)
    extreme = 0
    for _ in range(_ORDERS):
        chance.shuffle(order)
        extreme += statistic(order)[0] >= seen
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
            found = (sums[end] - before) ** 2 / weights[end - start]
            if found > best:
                best, place = found, (start, end)
    return best, place


def _sums(values: Sequence[float]) -> List[float]:
    """Return the sums of the first 0, 1, 2, … values less their mean (CUSUM)."""
    mean = sum(values) / len(values)
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value - mean)
    return sums
