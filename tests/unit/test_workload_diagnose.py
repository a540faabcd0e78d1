import importlib
import json
import math
import random
import sys
import threading
from argparse import Namespace
from collections import Counter
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from collectives.doubts import repeated_rounds, unclear
from collectives.rounds import (
    EVERY_PAIR,
    REPEATED,
    all_rounds,
    rounds,
)
from common.ranks import Place


@pytest.mark.parametrize("nodes", [2, 3, 4, 7, 8, 31, 32])
def test_every_pair_is_measured_once_in_rounds_of_disjoint_pairs(nodes):
    planned = rounds(nodes)

    assert len(planned) == (nodes - 1 if nodes % 2 == 0 else nodes)
    pairs = [pair for one in planned for pair in one]
    assert sorted(pairs) == [(a, b) for a in range(nodes) for b in range(a + 1, nodes)]
    for one in planned:
        busy = [node for pair in one for node in pair]
        assert len(busy) == len(set(busy)) == nodes - nodes % 2


@pytest.mark.parametrize("nodes", [EVERY_PAIR + 1, 64, 100, 511, 512])
def test_many_nodes_take_log2_and_three_rounds_with_other_partners_in_each(nodes):
    planned = rounds(nodes)

    assert len(planned) + REPEATED == math.floor(math.log2(nodes)) + 3
    pairs = [pair for one in planned for pair in one]
    assert len(set(pairs)) == len(pairs)
    rested = [nodes - 2 * len(one) for one in planned]
    assert rested == [nodes % 2] * len(planned)


@pytest.mark.parametrize(("nodes", "rack"), [(64, 8), (128, 16), (512, 64)])
def test_of_many_nodes_each_meets_most_racks(nodes, rack):
    met = {node: set() for node in range(nodes)}
    for one, other in (pair for planned in rounds(nodes) for pair in planned):
        met[one].add(other // rack)
        met[other].add(one // rack)
    assert min(map(len, met.values())) >= 4


def test_one_node_has_no_pair():
    with pytest.raises(ValueError, match="1 node: a pair needs two"):
        all_rounds(1)


def rates_of(planned, **slower):
    dice = random.Random(1)
    return {
        pair: [100 * slower.get("_{}_{}".format(*pair), 1) * dice.gauss(1, 0.01) for _ in range(5)]
        for one in planned
        for pair in one
    }


@pytest.mark.parametrize("nodes", [8, 9, 64])
def test_what_leaves_a_doubt_is_measured_again_beside_the_others(nodes):
    planned = rounds(nodes)
    pairs = sorted(pair for one in planned for pair in one)
    first = pairs[0]
    second = next(pair for pair in pairs if 0 in pair and pair != first)
    rates = rates_of(planned, **{"_{}_{}".format(*first): 0.9})
    rates[second][1:4] = [50, 51, 100]

    again = repeated_rounds(planned, rates)

    # Both have node 0: one round each, the slow one first.
    assert [first in one for one in again] == [True, False]
    assert second in again[1]
    for one in again:
        busy = [node for pair in one for node in pair]
        assert len(busy) == len(set(busy)) > nodes // 2
        assert set(one) <= set(pairs)


def test_without_a_doubt_nothing_is_measured_again():
    planned = rounds(8)
    assert repeated_rounds(planned, rates_of(planned)) == []
    # All pairs of a slow node are slow: there is no doubt about its links.
    slow = {"_{}_{}".format(*pair): 0.7 for one in planned for pair in one if 3 in pair}
    assert repeated_rounds(planned, rates_of(planned, **slow)) == []


@pytest.mark.parametrize(
    ("noise", "repeats", "doubt"), [(0.01, 9, False), (0.04, 9, True), (0.04, 90, False)]
)
def test_nodes_are_measured_again_where_their_rates_scatter(noise, repeats, doubt):
    dice = random.Random(1)
    rates = [[10 * dice.gauss(1, noise) for _ in range(repeats)] for _ in range(20)]
    # Differences between nodes, and a few disturbed repeats, are no scatter.
    rates[3] = [rate / 2 for rate in rates[3]]
    for one in rates:
        one[0] /= 2

    assert unclear(rates) == doubt


class Exchange:
    """Stands in for the exchange of values between ranks, which are threads here."""

    def __init__(self, ranks):
        self.barrier, self.values = threading.Barrier(ranks, timeout=20), [None] * ranks

    def gather(self, place, value):
        self.values[place.rank] = value
        self.barrier.wait()
        found = list(self.values)
        self.barrier.wait()
        return found

    def synchronise(self, *_):
        self.barrier.wait()


class Buffer:
    """Stands in for a tensor whose elements are all alike."""

    value, device = None, None

    def __getitem__(self, _):
        return SimpleNamespace(item=lambda: self.value)


@pytest.fixture
def nodes_and_pairs(monkeypatch):
    """Import the measurement without PyTorch, of which only the arithmetic of places is tried."""
    for name in ("torch", "torch.distributed", "torch.nn"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    for name in ("common.pytorch_ranks", "collectives.operations", "collectives.nodes_and_pairs"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("collectives.nodes_and_pairs")
    yield module
    for name in ("common.pytorch_ranks", "collectives.operations", "collectives.nodes_and_pairs"):
        sys.modules.pop(name, None)


def test_the_slower_way_of_a_pair_counts_between_the_first_devices_of_its_nodes(
    nodes_and_pairs, monkeypatch
):
    """4 nodes of 2 devices; the third rank is slow to get what the first one sends."""
    nodes, local, said, moved = 4, 2, [], set()
    exchange = Exchange(nodes * local)
    counts = Counter()

    def both_ways(rank, peer, _, receive):
        moved.add((rank, peer))
        counts[rank, peer] += 1
        receive.value = peer
        warm_up = counts[rank, peer] == 1
        return 9.0 if warm_up else 0.02 if (rank, peer) == (2, 0) else 0.01

    monkeypatch.setattr(nodes_and_pairs, "ranks", exchange)
    monkeypatch.setattr(nodes_and_pairs, "_both_ways", both_ways)
    monkeypatch.setattr(nodes_and_pairs, "put", said.append)
    monkeypatch.setattr(nodes_and_pairs.torch, "full", lambda *_, **__: Buffer())
    monkeypatch.setattr(nodes_and_pairs.torch, "empty_like", lambda *_: Buffer())
    options = Namespace(bytes=1_000_000, warmup=1, iterations=5)
    names = [f"node{rank // local + 1}" for rank in range(nodes * local)]
    places = [Place(rank, nodes * local, rank % local, local) for rank in range(nodes * local)]
    threads = [
        threading.Thread(target=nodes_and_pairs._measure_pairs, args=(options, place, None, names))
        for place in places
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(timeout=30)
    rows = [json.loads(line.split(" ", 2)[2]) for line in said]
    found = {tuple(row["nodes"]): row["rates"] for row in rows if "again" not in row}
    assert found == {
        (f"node{a}", f"node{b}"): [pytest.approx(50 if (a, b) == (1, 2) else 100)] * 5
        for a in range(1, 5)
        for b in range(a + 1, 5)
    }
    assert {rank % local for pair in moved for rank in pair} == {0}
    assert all((b, a) in moved for a, b in moved)
