"""Rates of simulated nodes, for the tests and the benchmark of the diagnosis."""

from __future__ import annotations

import math
import random

from collectives.rounds import rounds


def measured(
    count: int,
    seed: int,
    node: dict[int, float] | None = None,
    network: dict[int, float] | None = None,
    link: dict[tuple[int, int], float] | None = None,
    noise: float = 0.02,
    unlike: float = 0.005,
    repeats: int = 5,
    alone: int = 9,
    across: tuple[int, float] | None = None,
):
    """Return what the trainer measures of `count` nodes, with deficits as shares from 0 to 1.

    :param noise: standard deviation of a logarithm between repeats, normal.
    :param unlike: the same between sound nodes and links.
    :param repeats, alone: figures of each pair, and of each node alone.
    :param across: the first nodes of a group, and the deficit of its way out.
    """
    dice = random.Random(seed)
    names = [f"node{number + 1}" for number in range(count)]

    def rates(deficit: float, scale: float, repeats: int) -> list[float]:
        base = scale * (1 - deficit) * math.exp(dice.gauss(0, unlike))
        return [base * math.exp(dice.gauss(0, noise)) for _ in range(repeats)]

    def way(pair: tuple[int, int]) -> float:
        crossing = across is not None and (pair[0] < across[0]) != (pair[1] < across[0])
        shares = [1 - (network or {}).get(one, 0.0) for one in pair]
        return 1 - math.prod(
            [*shares, 1 - (link or {}).get(pair, 0.0), 1 - (across[1] if crossing else 0.0)]
        )

    return {
        "nodes": names,
        "alone": [
            {"test": test, "node": name, "device": 0, "rates": rates(share, scale, alone)}
            for test, scale in (("matrix_product", 40.0), ("memory_copy", 9000.0))
            for number, name in enumerate(names)
            for share in [(node or {}).get(number, 0.0)]
        ],
        "pairs": [
            {"nodes": [names[pair[0]], names[pair[1]]], "rates": rates(way(pair), 110.0, repeats)}
            for one_round in rounds(count)
            for pair in one_round
        ],
    }


def named(verdict) -> set[tuple[str, str]]:
    """Return kind and subject of each suspect."""
    return {(one["kind"], one["subject"]) for one in verdict["suspects"]}
