"""The rank that the others wait for at the exchange of gradients, from what each of them waited."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Dict, FrozenSet, Optional, Sequence, Set, TypedDict, cast

from ..records.runs import RankWaits
from ..stats.statistics import median

__all__ = ["LEAST_SHARE", "LEVEL", "Straggler", "waited_for"]

# Chance of naming a rank where all are alike, if intervals are independent, and the smallest share
# of a step that is worth naming.
LEVEL, LEAST_SHARE = 0.01, 0.02


class Straggler(TypedDict):
    """A rank that the others wait for, ``since`` a step, counted from 1.

    It reaches the exchange ``seconds`` later than the middle one of the others, ``share`` of a
    step; ``p`` is the probability of that by chance. ``rank`` is None where it is all ranks of the
    node.
    """

    rank: Optional[int]
    node: str
    since: int
    seconds: float
    share: float
    p: float


def waited_for(waits: Sequence[RankWaits]) -> Optional[Straggler]:
    """Return the rank that waits least from some step to the end, None where none stands out.

    All ranks leave an exchange together, so that the one that waited least reached it last. By
    chance each of n is that with 1 / n in an interval, and one of m on a node with m / n: ranks of
    a slow node are equally late, and each of them is seldom the last. The p-value of k intervals is
    the binomial one, times the ranks, nodes and beginnings that could have been found.

    :param waits: of all ranks of a repeat.
    """
    count = min((len(rank["wait_seconds"]) for rank in waits), default=0)
    if len(waits) < 2 or not count:
        return None
    columns = [[rank["wait_seconds"][place] for rank in waits] for place in range(count)]
    last = [column.index(min(column)) for column in columns]
    alone = [frozenset({index}) for index in range(len(waits))]
    of_nodes: Dict[str, Set[int]] = {}
    for index, rank in enumerate(waits):
        of_nodes.setdefault(rank["node"], set()).add(index)
    together = [
        frozenset(ranks) for _, ranks in sorted(of_nodes.items()) if 1 < len(ranks) < len(waits)
    ]
    p, _, _, ranks = min(
        (_chance(last, ranks, len(waits)), len(ranks), min(ranks), ranks)
        for ranks in [*alone, *together]
        if not ranks.isdisjoint(last)
    )
    p *= (len(alone) + len(together)) * count
    if p > LEVEL:
        return None
    late = [
        median([wait for index, wait in enumerate(column) if index not in ranks])
        - median([column[index] for index in ranks])
        for column in columns
    ]
    begin, first = _change(late), waits[min(ranks)]
    seconds = median(late[begin:])
    share = seconds / first["step_seconds"] if first["step_seconds"] > 0 else 0.0
    if share < LEAST_SHARE:
        return None
    found = {"rank": first["rank"] if len(ranks) == 1 else None, "node": first["node"]}
    since = begin * first["every"] + 1
    return cast(Straggler, {**found, "since": since, "seconds": seconds, "share": share, "p": p})


def _chance(last: Sequence[int], ranks: FrozenSet[int], count: int) -> float:
    """Return how likely it is by chance that ranks are last so often, at the best beginning.

    :param last: the rank that was last in each interval.
    :param count: of all ranks.
    """
    return min(
        _at_least(
            sum(index in ranks for index in last[begin:]), len(last) - begin, len(ranks) / count
        )
        for begin in range(len(last))
    )


def _change(late: Sequence[float]) -> int:
    """Return where a series rises to more than twice its median before, 0 where it never does.

    It is where two medians, before and after, fit best by the sum of absolute differences.
    """

    def misfit(begin: int) -> float:
        parts = [(part, median(part)) for part in (late[:begin], late[begin:]) if part]
        return math.fsum(abs(one - middle) for part, middle in parts for one in part)

    best = min(range(len(late)), key=misfit)
    return best if best and median(late[best:]) > 2 * median(late[:best]) else 0


@lru_cache(maxsize=10_000)
def _at_least(times: int, trials: int, chance: float) -> float:
    """Return the probability of at least so many of the trials, each with `chance`."""
    if chance >= 1:
        return 1.0
    yes, no, every = math.log(chance), math.log1p(-chance), math.lgamma(trials + 1)
    return math.fsum(
        math.exp(
            every - math.lgamma(k + 1) - math.lgamma(trials - k + 1) + k * yes + (trials - k) * no
        )
        for k in range(times, trials + 1)
    )
