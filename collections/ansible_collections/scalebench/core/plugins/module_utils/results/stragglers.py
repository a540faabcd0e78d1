"""The rank that the others wait for at the exchange of gradients, from what each of them waited."""

from __future__ import annotations

import math
from typing import Optional, Sequence, TypedDict, cast

from ..records.runs import RankWaits
from ..stats.statistics import median

__all__ = ["LEAST_SHARE", "LEVEL", "Straggler", "waited_for"]

# Chance of naming a rank where all are alike, if intervals are independent, and the smallest share
# of a step that is worth naming.
LEVEL, LEAST_SHARE = 0.01, 0.02


class Straggler(TypedDict):
    """A rank that the others wait for, ``since`` a step, counted from 1.

    It reaches the exchange ``seconds`` later than the middle one of the others, ``share`` of a
    step; ``p`` is the probability of that by chance.
    """

    rank: int
    node: str
    since: int
    seconds: float
    share: float
    p: float


def waited_for(waits: Sequence[RankWaits]) -> Optional[Straggler]:
    """Return the rank that waits least from some step to the end, None where none stands out.

    All ranks leave an exchange together, so that the one that waited least reached it last. By
    chance each of n is that with 1 / n in an interval. The p-value of k of m intervals is the
    binomial one, times the ranks and the beginnings that could have been found.

    :param waits: of all ranks of a repeat.
    """
    count = min((len(rank["wait_seconds"]) for rank in waits), default=0)
    if len(waits) < 2 or not count:
        return None
    columns = [[rank["wait_seconds"][place] for rank in waits] for place in range(count)]
    last = [column.index(min(column)) for column in columns]
    trials = len(waits) * count
    p, index = min(
        (trials * _at_least(last[begin:].count(index), count - begin, 1 / len(waits)), index)
        for begin, index in enumerate(last)
    )
    late = [median(column[:index] + column[index + 1 :]) - column[index] for column in columns]
    begin = _change(late)
    seconds, rank = median(late[begin:]), waits[index]
    share = seconds / rank["step_seconds"] if rank["step_seconds"] > 0 else 0.0
    if p > LEVEL or share < LEAST_SHARE:
        return None
    since = begin * rank["every"] + 1
    found = {"rank": rank["rank"], "node": rank["node"], "since": since}
    return cast(Straggler, {**found, "seconds": seconds, "share": share, "p": p})


def _change(late: Sequence[float]) -> int:
    """Return where a series rises to more than twice its median before, 0 where it never does.

    It is where two medians, before and after, fit best by the sum of absolute differences.
    """

    def misfit(begin: int) -> float:
        parts = [part for part in (late[:begin], late[begin:]) if part]
        return math.fsum(abs(one - median(part)) for part in parts for one in part)

    best = min(range(len(late)), key=misfit)
    return best if best and median(late[best:]) > 2 * median(late[:best]) else 0


def _at_least(times: int, trials: int, chance: float) -> float:
    """Return the probability of at least so many of the trials, each with `chance`."""
    return math.fsum(
        math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(times, trials + 1)
    )
