"""Utilizations that others printed, derived again from their throughput and their model.

``mfu_by`` of a row: ``formula`` (of ``models.flops``), what that formula needs of the model and the
row's own factors do not tell, ``peak_tflops`` of a device, and ``again`` where checkpoints of the
activations make the device compute attention and weights once more: how many weights, true for all.
"""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.models.flops import (
    flops_per_token,
    utilisation,
)
from published_data import all_rows

# How far a printed figure may lie from the derived one: both are rounded.
TOLERANCE = 0.005
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


def derived(row):
    """Return mfu and hfu in percent and hardware_tflops (TFLOP/s of a device) of a row.

    A forward pass once more costs 2 FLOPs a weight and 4Lhs of the attention a token, a third of
    a training step's (Korthikanti et al. 2022, arXiv 2205.05198, section 4).

    :raises ValueError: a dimension that the formula needs is missing.
    """
    by = {**(row.get("own_factors") or {}), **row["mfu_by"]}
    of_token = flops_per_token(by["formula"], by)
    if of_token is None:
        raise ValueError(f"{row['id']}: mfu_by lacks a dimension that {by['formula']} needs")
    tokens = 1 if row["unit"] == "tokens" else by["sequence_length"]
    hardware = flops = tokens * of_token
    if by.get("again"):
        weights = by["parameters"] if by["again"] is True else by["again"]
        attention = 4 * by["layers"] * by["hidden"] * by["sequence_length"]
        hardware += tokens * (2 * weights + attention)
    rate, devices, peak = row["throughput"], row["world_size"], by["peak_tflops"] * 1e12
    return {
        "mfu": 100 * (utilisation(flops, rate, devices, peak) or 0.0),
        "hfu": 100 * (utilisation(hardware, rate, devices, peak) or 0.0),
        "hardware_tflops": hardware * rate / devices / 1e12,
    }


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
