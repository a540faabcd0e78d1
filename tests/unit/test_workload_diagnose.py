import math

import pytest

from collectives.rounds import (
    EVERY_PAIR,
    all_rounds,
    rounds,
)


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

    assert len(planned) == math.ceil(math.log2(nodes)) + 3
    pairs = [pair for one in planned for pair in one]
    assert len(set(pairs)) == len(pairs)
    rested = [nodes - 2 * len(one) for one in planned]
    assert rested == [nodes % 2] * len(planned)


def test_one_node_has_no_pair():
    with pytest.raises(ValueError, match="1 node: a pair needs two"):
        all_rounds(1)
