"""Blocks of a matrix: what they run alone, and what options make of them."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning.matrix import blocks

CHOICES = {
    "precision": ["fp32", "amp"],
    "xla": [False, True],
    "data": ["synthetic"],
    "data_backend": ["native", "dali"],
    "framework_version": [None],
    "mode": ["train"],
}
# The shape of reference effort 000: two batch sizes, XLA and DALI with one of them only.
DEFAULTS = {
    "image_size": [224],
    "topology": ["1n1g", "4n8g"],
    "matrix": [
        {"precision": ["fp32"], "batch_size_per_device": [128]},
        {"precision": ["amp"], "batch_size_per_device": [224], "xla": [False, True]},
    ],
}


def batches(**options):
    """Return precision, batch size and XLA of every combination."""
    return [
        (precision, batch, xla)
        for values in blocks(DEFAULTS, CHOICES, options)
        for precision in values["precision"]
        for batch in values["batch_size_per_device"]
        for xla in values["xla"]
    ]


def test_each_block_runs_its_own_combinations():
    assert batches() == [("fp32", 128, False), ("amp", 224, False), ("amp", 224, True)]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"precision": ["amp"]}, [("amp", 224, False), ("amp", 224, True)]),
        ({"batch_size_per_device": [128]}, [("fp32", 128, False)]),
        ({"xla": [True]}, [("amp", 224, True)]),
        ({"xla": [True], "precision": ["fp32"]}, []),
    ],
)
def test_an_option_selects_among_what_the_blocks_have(options, left):
    assert batches(**options) == left


def test_a_value_that_no_block_has_stands_in_all_of_them():
    assert batches(batch_size_per_device=[64], xla=[False]) == [
        ("fp32", 64, False),
        ("amp", 64, False),
    ]


def test_a_value_that_the_recipe_has_not_is_no_value():
    assert batches(precision=["fp8"]) == []


def test_a_block_without_topology_has_the_usual_ones():
    assert {tuple(values["topology"]) for values in blocks(DEFAULTS, CHOICES, {})} == {
        ("1n1g", "4n8g")
    }
