"""Which figures leave a doubt, and in which rounds pairs are measured again."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median

from collectives.rounds import REPEATED, Pair

# A repeat is disturbed, and a pair looks slow, from so many standard deviations.
_DISTURBED, _LOOKS_SLOW = 4.0, 3.0
# As many of the repeats disturbed leave a doubt.
_DISAGREE = 0.4
# A node 10 % slower is found by medians with this standard error.
_PRECISE = 0.01
# The tests of a node are repeated so many times as often at most.
BATCHES = 3


def repeated_rounds(
    planned: Sequence[Sequence[Pair]], rates: Mapping[Pair, Sequence[float]]
) -> list[list[Pair]]:
    """Return at most :data:`REPEATED` rounds for the pairs whose figures leave a doubt.

    In doubt are pairs slower than what both of their nodes usually reach, the slowest first, and
    then those of which two fifths of the repeats are disturbed. Pairs that were
    measured too fill up a round, so that the network is as busy as before and what all rates have
    in common is seen. Without a doubt there is no round.

    :param planned: the rounds that were measured.
    :param rates: the repeats of each of their pairs, above 0.
    """
    logs = {pair: [math.log(rate) for rate in repeats] for pair, repeats in rates.items()}
    usual = {pair: median(repeats) for pair, repeats in logs.items()}
    apart = {pair: [abs(one - usual[pair]) for one in repeats] for pair, repeats in logs.items()}
    spread = _spread(logs.values())
    of_node: dict[int, list[float]] = {}
    for pair, value in usual.items():
        for node in pair:
            of_node.setdefault(node, []).append(value)
    doubts: dict[Pair, float] = {}
    for pair, value in usual.items():
        disturbed = sum(one > _DISTURBED * spread for one in apart[pair])
        below = (min(median(of_node[node]) for node in pair) - value) / spread
        below *= math.sqrt(len(apart[pair]))
        if below > _LOOKS_SLOW or disturbed >= _DISAGREE * len(apart[pair]):
            doubts[pair] = below
    found: list[list[Pair]] = []
    waiting = sorted(doubts, key=lambda pair: -doubts[pair])
    while waiting and len(found) < REPEATED:
        chosen = _disjoint([*waiting, *(pair for one in planned for pair in one)])
        waiting = [pair for pair in waiting if pair not in chosen]
        found.append(sorted(chosen))
    return found


def unclear(figures: Collection[Sequence[float]]) -> bool:
    """Return whether the medians of the figures' repeats are not known to 1 %.

    Their standard error is 1.25 that of a mean.

    :param figures: the repeats of each node or device in one test, above 0.
    """
    repeats = min(map(len, figures))
    spread = _spread([math.log(rate) for rate in rates] for rates in figures)
    return 1.25 * spread / math.sqrt(repeats) > _PRECISE


def _spread(figures: Iterable[Sequence[float]]) -> float:
    """Return the standard deviation of a repeat, by the median absolute deviations of figures."""
    every = [median(abs(one - median(repeats)) for one in repeats) for repeats in figures]
    return max(1.4826 * median(every), 1e-6)


def _disjoint(pairs: Sequence[Pair]) -> set[Pair]:
    """Return those pairs that have no node of an earlier one."""
    busy: set[int] = set()
    chosen = set()
    for pair in pairs:
        if busy.isdisjoint(pair):
            chosen.add(pair)
            busy.update(pair)
    return chosen
