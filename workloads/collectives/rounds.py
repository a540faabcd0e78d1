"""Which nodes exchange with each other at the same time: rounds of disjoint pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

Pair = tuple[int, int]
# Up to so many nodes every pair is measured; above, each node with a few others.
EVERY_PAIR = 32
# Rounds more for the pairs whose figures leave a doubt.
REPEATED = 2
# A repeat is disturbed, and a pair looks slow, from so many standard deviations.
_DISTURBED, _LOOKS_SLOW = 4.0, 3.0
# As many of the repeats disturbed leave a doubt.
_DISAGREE = 0.4


def all_rounds(nodes: int) -> list[list[Pair]]:
    """Return rounds in which every pair of the nodes 0, 1, ... stands once (circle method).

    An even number of nodes has one round less than nodes; of an odd number one node rests in each
    round.

    :raises ValueError: fewer than two nodes.
    """
    if nodes < 2:
        raise ValueError(f"{nodes} node: a pair needs two")
    seats = nodes + nodes % 2
    return [_round(number, seats, nodes) for number in range(seats - 1)]


def _round(number: int, seats: int, nodes: int) -> list[Pair]:
    """Return a round of the circle method: the last seat stands still, the others turn."""
    turning = seats - 1
    pairs = [(number % turning, seats - 1)]
    pairs += [
        ((number + step) % turning, (number - step) % turning) for step in range(1, seats // 2)
    ]
    return sorted((min(pair), max(pair)) for pair in pairs if max(pair) < nodes)


def rounds(nodes: int) -> list[list[Pair]]:
    """Return the rounds of a diagnosis: every pair up to :data:`EVERY_PAIR` nodes.

    Above, floor(log2 nodes) + 3 rounds less :data:`REPEATED`, of the same schedule and spread over
    it: each node is measured with that many others, which tells a slow node from a slow link; most
    links are not measured.

    :raises ValueError: see :func:`all_rounds`.
    """
    every = all_rounds(nodes)
    if nodes <= EVERY_PAIR:
        return every
    wanted = nodes.bit_length() + 2 - REPEATED
    return [every[number * len(every) // wanted] for number in range(wanted)]


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
    spread = max(1.4826 * median(map(median, apart.values())), 1e-6)
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


def _disjoint(pairs: Sequence[Pair]) -> set[Pair]:
    """Return those pairs that have no node of an earlier one."""
    busy: set[int] = set()
    chosen = set()
    for pair in pairs:
        if busy.isdisjoint(pair):
            chosen.add(pair)
            busy.update(pair)
    return chosen
