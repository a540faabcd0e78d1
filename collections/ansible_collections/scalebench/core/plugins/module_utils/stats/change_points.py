"""Outliers of a series, and the places where it changes its level.

Two kinds of change are searched: a level that changes and stays (the maximum of the CUSUM
statistic over all splits) and an episode, a level that changes and returns (the same over all
pairs of places; Olshen et al. 2004, Biostatistics 5, 557, circular binary segmentation). A single
value far from all others is left out: it is no change, and would hide one. Each kind is tested
against random permutations of the values, which assumes nothing about their distribution: without
a change every order is equally likely (Pesarin and Salmaso 2010). A series that changed is cut
there and its pieces are searched again (binary segmentation, Vostrikova 1981).

Where values resemble those before them (drift, temperature) their order is not random, and more
series are marked: docs/statistics.md has the simulated rates.
"""

from __future__ import annotations

import random
import statistics
from typing import Callable, List, Sequence, Tuple

from .log_ratio import benjamini_hochberg

__all__ = [
    "ALPHA",
    "LEAST",
    "LEAST_FOR_OUTLIERS",
    "LOOKS",
    "change_points",
    "common_change_points",
    "outlier_cut",
    "outliers",
]

# The median absolute deviation of normal values times this is their standard deviation.
MAD_TO_SD = 1 / 0.6745
LEAST_FOR_OUTLIERS = 8
# The largest share of series without a change that are marked at any of LOOKS looks, one after
# each new value. The level of one look follows by simulation.
ALPHA, LOOKS = 0.05, 25
_LEVEL = 0.0125
# Fewer values have too few permutations: of 10, split in 5 and 5, 2 of 252 are as extreme.
LEAST = 11
# A single value apart is an outlier until a second one agrees.
_SHORTEST = 2
# A lowest or highest value is alone, and left out, if it is farther from the next one than this
# share of the range of the others. So many values may have two.
_ALONE, _TWO_ALONE = 0.5, 20
# Permutations: usually, and for one of many series that needs a smaller p value than these give.
_ORDERS, _MORE_ORDERS = 1999, 19_999
# As many orders at least as extreme end a test: half of _LEVEL is exceeded in any case then.
_EXTREME = 13
# The same values give the same answer, so that a second run changes nothing.
_SEED = 20041001
Places = Tuple[int, ...]
Statistic = Callable[[Sequence[float]], Tuple[float, Places]]


def outliers(values: Sequence[float]) -> List[int]:
    """Return the indexes of the values whose modified z-score is above :func:`outlier_cut`.

    The score is 0.6745 (value - median) / MAD. The list is empty for fewer than
    ``LEAST_FOR_OUTLIERS`` values, and where more than half of them are equal, so that MAD is 0.

    :param values: of one quantity at one level, in any unit and order.
    """
    if len(values) < LEAST_FOR_OUTLIERS:
        return []
    centre = statistics.median(values)
    scale = MAD_TO_SD * statistics.median(abs(value - centre) for value in values)
    far = outlier_cut(len(values)) * scale
    return [index for index, value in enumerate(values) if scale and abs(value - centre) > far]


def outlier_cut(count: int) -> float:
    """Return the score that the largest of so many normal values exceeds in 1 % of the series.

    Of 8 to 100 values, by simulation. A cut of 3.5 whatever their number (Iglewicz and Hoaglin
    1993) finds an outlier in 9 to 15 % of the series.
    """
    return 3.9 + 34 / count


def common_change_points(series: Sequence[Sequence[float]]) -> List[List[int]]:
    """Return the :func:`change_points` of several series that are looked at together.

    Benjamini and Hochberg's correction holds for all of them: where none changed, the probability
    of any mark is that of a single series; where some did, at most that share of the marked ones
    is expected to be marked in error.
    """
    p_values = [_change(values)[0] for values in series]
    for index, adjusted in enumerate(benjamini_hochberg(p_values)):
        if p_values[index] <= _LEVEL < adjusted:
            p_values[index] = _change(series[index], _MORE_ORDERS)[0]
    return [
        change_points(values) if adjusted <= _LEVEL else []
        for values, adjusted in zip(series, benjamini_hochberg(p_values))
    ]


def change_points(values: Sequence[float]) -> List[int]:
    """Return the indexes, in order, of the first value after each change.

    Fewer than ``LEAST`` values give an empty list.

    :param values: of one quantity in order of time, in any unit.
    """
    p_value, places = _change(values)
    if p_value > _LEVEL:
        return []
    found = list(places)
    for low, high in zip([0, *places], [*places, len(values)]):
        found += [low + place for place in change_points(values[low:high])]
    return sorted(found)


def _change(values: Sequence[float], orders: int = _ORDERS) -> Tuple[float, Places]:
    """Return the p value of a change of either kind, and where it is.

    The smaller p value of both kinds counts twice (Bonferroni); of two equal ones the split's.
    """
    kept = _without_lone(values) if len(values) >= LEAST else []
    rest = [values[index] for index in kept]
    if len(set(rest)) < 2:
        return 1.0, ()
    tests = [(_p_value(rest, kind, orders), kind) for kind in (_best_split, _best_episode)]
    p_value, kind = min(tests, key=lambda test: test[0])
    return min(1.0, 2 * p_value), tuple(kept[place] for place in kind(rest)[1])


def _p_value(values: Sequence[float], kind: Statistic, orders: int) -> float:
    """Return the share of random orders that are at least as extreme, the given one included.

    Counting the given order keeps the level even with few others (Phipson and Smyth 2010), and so
    does ending with a certain number of extreme ones (Besag and Clifford 1991).
    """
    observed = kind(values)[0] * (1 - 1e-9)
    chance = random.Random(_SEED)
    order = list(values)
    extreme = 0
    for done in range(1, orders + 1):
        chance.shuffle(order)
        extreme += kind(order)[0] >= observed
        if extreme == _EXTREME:
            return extreme / done
    return (extreme + 1) / (orders + 1)


def _without_lone(values: Sequence[float]) -> List[int]:
    """Return the indexes of the values without those that are alone at an end.

    Which values these are does not depend on the order, which is what is tested.
    """
    kept = sorted(range(len(values)), key=lambda index: values[index])
    for _ in range(2 if len(values) >= _TWO_ALONE else 1):
        lowest, low, *_, high, highest = (values[index] for index in kept)
        below, above = low - lowest, highest - high
        if max(below, above) <= _ALONE * (highest - lowest - max(below, above)):
            break
        del kept[0 if below > above else -1]
    return sorted(kept)


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
