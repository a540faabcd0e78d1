"""Which nodes exchange with each other at the same time: rounds of disjoint pairs."""

from __future__ import annotations

Pair = tuple[int, int]
# Up to so many nodes every pair is measured; above, each node with a few others.
EVERY_PAIR = 32
# Rounds more for the pairs whose figures leave a doubt.
REPEATED = 2


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
    if nodes <= EVERY_PAIR:
        return all_rounds(nodes)
    wanted = nodes.bit_length() + 2 - REPEATED
    seats = nodes + nodes % 2
    return [_round(number * (seats - 1) // wanted, seats, nodes) for number in range(wanted)]
