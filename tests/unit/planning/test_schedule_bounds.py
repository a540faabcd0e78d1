"""The lower bound: the larger of the nodes' work and the longest chain."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning.schedule import (
    lower_bound,
)


def repeats(*pairs):
    return [{"cell": {"nodes": nodes}, "seconds": seconds} for nodes, seconds in pairs]


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ([], 0),
        # 8 node-seconds of 10 s each on 4 nodes.
        ([(1, 10)] * 8, 20),
        # One alone cannot be shared out.
        ([(1, 10)], 10),
        # Three nodes of four, twice: 15 by work, 20 because they exclude each other.
        ([(3, 10), (3, 10)], 20),
        # Two halves do not exclude each other.
        ([(2, 10), (2, 10)], 10),
        ([(3, 10), (3, 10), (1, 25)], 25),
    ],
)
def test_lower_bound_of_four_nodes(given, seconds):
    assert lower_bound(repeats(*given), 4) == seconds
