"""Rates of simulated nodes, for the tests and the benchmark of the diagnosis."""

from __future__ import annotations

import json
import math
import random

from collectives.doubts import BATCHES, repeated_rounds, unclear
from collectives.rounds import rounds

# What a disturbed repeat loses: as much as by another transfer at the same time.
DISTURBED = math.log(1 - 0.4)
# Usual rates of what is measured of a device alone, without a GPU.
TESTS = {"training_step": 100.0, "matrix_product": 40.0, "memory_copy": 9000.0}


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
    touching: tuple[int, float] | None = None,
    devices: int = 1,
    device: dict[tuple[int, int], float] | None = None,
    disturbed: float = 0.0,
    scattered: tuple[int, float] | None = None,
    uneven: tuple[float, float] | None = None,
    drawn: dict[str, list[list[float]]] | None = None,
):
    """Return what the trainer measures of `count` nodes, with deficits as shares from 0 to 1.

    :param noise: standard deviation of a logarithm between repeats, normal.
    :param unlike: the same between sound nodes and links.
    :param repeats, alone: figures of each pair, and of each node alone.
    :param across: the first nodes of a group, and the deficit of its way out.
    :param touching: the first nodes of a group, and the deficit of all pairs with one of them.
    :param devices: of each node; ``device`` their deficits, by node and number on it.
    :param disturbed: share of the repeats that lose 40 %.
    :param scattered: a node, and the noise between the repeats of its pairs.
    :param uneven: a share of the pairs, and the noise between the repeats of these.
    :param drawn: by test, measured logarithms of the repeats of a sound figure against the usual of
        its test and of the moment, to draw from instead of all noise.
    """
    dice = random.Random(seed)
    names = [f"node{number + 1}" for number in range(count)]

    def sound() -> float:
        return 0.0 if drawn else dice.gauss(0, unlike)

    def rates(test: str, base: float, repeats: int, noise: float = noise) -> list[float]:
        if drawn:
            return [base * math.exp(one) for one in dice.choice(drawn[test])]
        return [
            base * math.exp(dice.gauss(0, noise) + DISTURBED * (dice.random() < disturbed))
            for _ in range(repeats)
        ]

    places = [(number, one) for number in range(count) for one in range(devices)]

    def alone_rates(test: str, scale: float) -> list[list[float]]:
        shares = [max((node or {}).get(at[0], 0.0), (device or {}).get(at, 0.0)) for at in places]
        base = [scale * (1 - share) * math.exp(sound()) for share in shares]
        found: list[list[float]] = [[] for _ in places]
        for _ in range(BATCHES):
            for number, level in enumerate(base):
                found[number] += rates(test, level, alone)
            if not unclear(found):
                break
        return found

    def way(pair: tuple[int, int]) -> float:
        crossing = across is not None and (pair[0] < across[0]) != (pair[1] < across[0])
        touched = touching is not None and min(pair) < touching[0]
        shares = [(network or {}).get(one, 0.0) for one in pair]
        shares += [across[1] if crossing else 0.0, touching[1] if touched else 0.0]
        # A pair runs at the rate of the slowest part of its way.
        return max([*shares, (link or {}).get(pair, 0.0)])

    planned = rounds(count)
    base = {pair: 110.0 * (1 - way(pair)) * math.exp(sound()) for one in planned for pair in one}

    of_pairs, (share, more) = random.Random(f"{seed} uneven"), uneven or (0.0, noise)
    noisy = {pair for pair in base if of_pairs.random() < share}

    def pair_rates(pair: tuple[int, int]) -> list[float]:
        own = scattered[1] if scattered and scattered[0] in pair else noise
        own = more if pair in noisy else own
        return rates("pair_transfer", base[pair], repeats, own)

    pairs = {pair: pair_rates(pair) for pair in base}
    again = repeated_rounds(planned, pairs)
    for pair in (pair for one in again for pair in one):
        pairs[pair] += pair_rates(pair)
    return {
        "nodes": names,
        "alone": [
            {"test": test, "node": names[number], "device": one, "rates": found}
            for test, scale in TESTS.items()
            if not drawn or test in drawn
            for (number, one), found in zip(places, alone_rates(test, scale), strict=True)
        ],
        "pairs": [
            {"nodes": [names[one] for one in pair], "rates": found} for pair, found in pairs.items()
        ],
    }


def two_racks(count: int, first: int) -> dict[str, list[str]]:
    """Return two groups: the first nodes, and the others."""
    names = [f"node{number + 1}" for number in range(count)]
    return {"rack1": names[:first], "rack2": names[first:]}


def named(verdict) -> set[tuple[str, str]]:
    """Return kind and subject of each suspect."""
    return {(one["kind"], one["subject"]) for one in verdict["suspects"]}


def log_of(data):
    """Return the lines that the trainer prints of a measurement."""
    kinds = {"alone": "alone", "pairs": "pair"}
    return "\n".join(
        f"[scalebench] {kind} {json.dumps(row)}" for key, kind in kinds.items() for row in data[key]
    )
