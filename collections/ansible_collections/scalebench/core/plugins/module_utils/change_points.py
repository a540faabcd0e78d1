"""Where a series of campaigns changed its level: permutation tests and binary segmentation.

Two shapes are looked for: a level that changes and stays (the maximum of the CUSUM statistic over
all splits) and an episode, a level that changes and comes back (the same over all pairs of
places; Olshen et al. 2004, Biostatistics 5, 557, circular binary segmentation). Each is held
against random orders of the same values, which needs no assumption on their distribution: only
that without a change any order is as likely (Pesarin and Salmaso 2010). A series that changed is
cut there and its pieces are searched again (Vostrikova 1981), so a series without any change is
marked no more often than its first test says: in a share of ``ALPHA`` of such series at most.
"""

from __future__ import annotations

import random
import statistics
from typing import Callable, List, Optional, Sequence, Tuple

from .outliers import CUT, MAD_TO_SD

__all__ = ["ALPHA", "LEAST", "change_points"]

# Share of the series without a change that are marked, at most; half for either shape.
ALPHA = 0.05
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
    return sorted(_search(values, 0))


def _search(values: Sequence[float], start: int) -> List[int]:
    if len(values) < LEAST or min(values) == max(values):
        return []
    clipped = _clipped(values)
    places = _tested(clipped, _best_split) or _tested(clipped, _best_episode)
    if not places:
        return []
    found = [start + place for place in places]
    for low, high in zip([0, *places], [*places, len(values)]):
        found += _search(values[low:high], start + low)
    return found


def _clipped(values: Sequence[float]) -> List[float]:
    """Return the distances from the median, those of outliers cut, so that none hides a change.

    Every order of the values is clipped alike, which keeps the test exact.
    """
    centre = statistics.median(values)
    distances = [value - centre for value in values]
    limit = CUT * MAD_TO_SD * statistics.median(abs(distance) for distance in distances)
    if not limit:
        return distances
    return [min(max(distance, -limit), limit) for distance in distances]


def _tested(
    values: Sequence[float], statistic: Callable[[Sequence[float]], Tuple[float, Places]]
) -> Optional[Places]:
    """Return the places of the greatest statistic where it is significant, else None.

    p is (orders at least as extreme + 1) / (orders + 1), which keeps the level with few of them
    (Phipson and Smyth 2010). It stops where p can no longer be small (Besag and Clifford 1991).
    """
    seen, places = statistic(values)
    seen *= 1 - 1e-9
    most = int(ALPHA / 2 * (_ORDERS + 1)) - 1
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
