"""Topologies: read, write, order, count."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import topology


@pytest.mark.parametrize(("text", "pair"), [("1n1g", (1, 1)), ("4n8g", (4, 8)), ("16n8g", (16, 8))])
def test_read_and_write(text, pair):
    assert topology.parse_topology(text) == pair
    assert topology.format_topology(*pair) == text
    assert topology.world_size(text) == pair[0] * pair[1]


@pytest.mark.parametrize(
    "text", ["", "4n", "n8g", "04n8g", "4N8G", "4n8g ", "4n8g\n", "٤n8g", "9" * 10 + "n1g", None, 4]
)
def test_what_is_no_topology(text):
    with pytest.raises(ValueError, match="is not a topology: write"):
        topology.parse_topology(text)


@pytest.mark.parametrize(
    ("pair", "wrong"),
    [
        ((0, 1), "nodes"),
        ((1, 0), "devices_per_node"),
        ((True, 1), "nodes"),
        ((1, 1.0), "devices_per_node"),
    ],
)
def test_counts_are_whole_and_at_least_one(pair, wrong):
    with pytest.raises(ValueError, match=f"^{wrong} .*: a topology needs a whole number of at"):
        topology.format_topology(*pair)


def test_order_is_by_number():
    assert topology.sort_topologies(["16n8g", "2n8g", "1n16g", "1n2g"]) == [
        "1n2g",
        "1n16g",
        "2n8g",
        "16n8g",
    ]
