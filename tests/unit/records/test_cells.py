"""The identity of a cell."""

from ansible_collections.scalebench.core.plugins.module_utils.records.cells import cell_key

CELL = {
    "benchmark": "pytorch",
    "precision": "amp",
    "variant": "bz4-real",
    "model": "r50",
    "topology": "2n1g",
}


def test_cells_that_differ_in_topology_are_of_one_group():
    other = {**CELL, "topology": "4n1g"}
    assert cell_key(CELL) != cell_key(other)
    assert cell_key(CELL).group == cell_key(other).group
    assert cell_key(CELL).topology == "2n1g"


def test_every_part_counts():
    for name in CELL:
        assert cell_key({**CELL, name: "other"}) != cell_key(CELL)
