"""Utilizations that others printed, derived again from their throughput and their model."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.published.utilisation import (
    TOLERANCE,
    derived,
)
from published_data import all_rows

FIGURES = ("mfu", "hfu", "hardware_tflops")
ROWS = [row for row in all_rows() if any(row[figure] for figure in FIGURES)]
ROW = {
    "id": "one",
    "unit": "tokens",
    "throughput": 1000.0,
    "world_size": 2,
    "own_factors": {"sequence_length": 10},
    "mfu_by": {
        **{"formula": "torchtitan_decoder", "parameters": 1000, "embedding_parameters": 100},
        **{"layers": 2, "hidden": 5, "peak_tflops": 1e-5},
    },
}
# 6 x 900 + 12 x 2 x 5 x 10 FLOPs a token; once more forward 2 x 1000 + 4 x 2 x 5 x 10.
MODEL, AGAIN = 6600, 2400


def test_every_row_that_prints_a_utilization_says_what_of():
    assert len(ROWS) == 252
    assert all(row["mfu_by"] for row in ROWS)


@pytest.mark.parametrize("source", sorted({row["source"] for row in ROWS}))
def test_printed_utilizations_are_derived_within_half_a_percent(source):
    for row in (row for row in ROWS if row["source"] == source):
        figures = derived(row)
        for name in (name for name in FIGURES if row[name]):
            # A whole number of percents was rounded to that.
            rounded = 0.5 if row[name] == int(row[name]) else 0.005
            assert figures[name] == pytest.approx(row[name], rel=TOLERANCE, abs=rounded), row["id"]


@pytest.mark.parametrize(
    ("again", "hardware"), [(None, MODEL), (True, MODEL + AGAIN), (500, MODEL + AGAIN - 1000)]
)
def test_what_is_computed_again_is_of_the_hardware_only(again, hardware):
    figures = derived({**ROW, "mfu_by": {**ROW["mfu_by"], "again": again}})
    assert figures["mfu"] == pytest.approx(100 * MODEL * 1000 / 2 / 1e7)
    assert figures["hfu"] == pytest.approx(100 * hardware * 1000 / 2 / 1e7)
    assert figures["hardware_tflops"] == pytest.approx(hardware * 1000 / 2 / 1e12)


def test_a_sequence_is_as_many_tokens():
    by = {**ROW["mfu_by"], "formula": "encoder", "again": True}
    tokens = derived({**ROW, "mfu_by": {**ROW["mfu_by"], "again": True}})
    sequences = derived({**ROW, "unit": "sequences", "throughput": 100.0, "mfu_by": by})
    assert sequences == pytest.approx(tokens)


def test_a_dimension_that_is_missing_is_named():
    by = {key: value for key, value in ROW["mfu_by"].items() if key != "layers"}
    with pytest.raises(ValueError, match="one: mfu_by lacks a dimension that torchtitan_decoder"):
        derived({**ROW, "mfu_by": by})
