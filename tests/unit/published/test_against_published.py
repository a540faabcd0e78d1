"""A campaign against published rows: what is compared, and the reasons where nothing is."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.published.against_published import (
    against_published,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from published_data import all_rows, rows
from report_data import PRINTED_004, REFERENCE_004, campaign

CONDITIONS = {
    "benchmark": "paddle",
    "framework": "PaddlePaddle",
    "variant": "bz128",
    "batch_size_per_device": 128,
    "xla": False,
    "data": "real",
    "data_backend": "native",
    "image_size": 224,
    "device": "gpu",
    "node_names": ["node1"],
}
AMP = {"precision": "amp", "variant": "bz224", "batch_size_per_device": 224}
V100 = {"node1": {"gpus": [{"name": "Tesla V100-SXM2-16GB"}]}}
STATED = {"gpu": "V100-SXM2-16GB", "data": "real", "data_backend": "native", "image_size": 224}


def built(speeds, nodes=V100, stated=None, **changes):
    """Return results with the conditions of reference effort 004, except for ``changes``."""
    plan, runs = campaign(speeds, **{**CONDITIONS, **changes})
    plan["nodes"] = dict(nodes)
    plan["options"] = {"conditions": stated} if stated else {}
    return build_results(plan, runs)


def test_a_reference_effort_measured_again_is_equivalent_to_itself():
    found = against_published(built(REFERENCE_004), rows("reference_004_paddle"))
    assert found["not_compared"] == []
    assert {one["cell"]["topology"] for one in found["compared"]} == set(REFERENCE_004)
    for one in found["compared"]:
        _, median, speedup = PRINTED_004[one["cell"]["topology"]]
        assert one["measured"] == {"throughput": median, "speedup": speedup}
        assert one["theirs"] == {"throughput": median, "speedup": speedup}
        assert one["ratio"] == 1.0
        assert one["beyond_repeats"] is False
        wide = one["high"] - one["low"] > 0.04
        assert one["finding"] == ("undecided" if wide else "equivalent")
        assert "; noise of the runs of both sides; without how machines" in one["why"]
        assert one["source"]["repository"] == "Oneflow-Inc/DLPerf"


def test_a_slower_campaign_is_beyond_repeats():
    slower = {key: [0.9 * speed for speed in REFERENCE_004[key]] for key in REFERENCE_004}
    found = against_published(built(slower), rows("reference_004_paddle"))["compared"]
    assert {(one["beyond_repeats"], one["finding"]) for one in found} == {(True, "slower")}


def test_the_errata_of_a_row_come_with_it():
    speeds = {"4n8g": [10633.22, 10600.0, 10650.0]}
    results = built(speeds, stated={"loss_scaling": "dynamic"}, **AMP)
    found = against_published(results, rows("reference_004_paddle"))["compared"]
    kinds = [erratum["kind"] for one in found for erratum in one["errata"]]
    assert "misprint" in kinds


@pytest.mark.parametrize(
    ("scaling", "series"), [("dynamic", "amp_b224"), ("static", "amp_b224_static_loss_scale")]
)
def test_each_way_of_loss_scaling_has_its_own_table(scaling, series):
    """By what the logs print: the plan of either recipe has the same conditions."""
    plan, runs = campaign({"1n1g": [1034.64, 1030.0]}, **{**CONDITIONS, **AMP})
    plan["nodes"] = dict(V100)
    for run in runs:
        run["facts"]["identity"] = {"precision": "amp", "loss_scaling": scaling}
    found = against_published(build_results(plan, runs), rows("reference_004_paddle"))
    assert [one["published"] for one in found["compared"]] == [
        f"reference_004_paddle/{series}/1n1g"
    ]


def test_without_loss_scaling_in_the_log_it_is_not_known_which_table_is_meant():
    found = against_published(built({"1n1g": [1034.64]}, **AMP), rows("reference_004_paddle"))
    (group,) = found["not_compared"]
    assert found["compared"] == []
    assert [one["condition"] for one in group["unknown"]] == ["loss_scaling"]


def test_a_cpu_campaign_is_one_group_without_any_figure():
    speeds = {"1n1g": [25.0, 25.2], "2n1g": [30.0, 31.0], "4n1g": [33.0, 33.5]}
    cell = {"benchmark": "pytorch", "framework": "pytorch", "device": "cpu", "image_size": 32}
    results = built(speeds, **cell, batch_size_per_device=4, data="synthetic")
    found = against_published(results, all_rows())
    assert found["compared"] == []
    (group,) = found["not_compared"]
    assert [one["topology"] for one in group["cells"]] == ["1n1g", "2n1g", "4n1g"]
    assert [one["condition"] for one in group["never"]] == [
        "gpu",
        "batch_size_per_device",
        "image_size",
    ]
    assert "ratio" not in group and "throughput" not in str(group)


@pytest.mark.parametrize(
    ("condition", "value"),
    [("batch_size_per_device", 64), ("data", "synthetic"), ("image_size", 256)],
)
def test_another_condition_is_the_reason(condition, value):
    found = against_published(
        built(REFERENCE_004, **{condition: value}), rows("reference_004_paddle")
    )
    (group,) = found["not_compared"]
    assert found["compared"] == []
    assert [one["condition"] for one in group["differences"]] == [condition]
    assert group["never"] == [{"condition": condition, "measured": value}]


def test_of_cells_that_share_their_reasons_the_nearest_row_of_any_is_named():
    results = built({"2n1g": [30.0, 31.0], "1n1g": [25.0, 25.2]}, batch_size_per_device=64)
    (group,) = against_published(results, rows("reference_004_paddle"))["not_compared"]
    assert {one["topology"] for one in group["cells"]} == {"1n1g", "2n1g"}
    assert group["nearest"] == "reference_004_paddle/fp32_b128/1n1g"


def test_conditions_that_were_published_but_not_together_are_told_of_the_nearest():
    """Batch size 196 was published in amp, and fp32 with other batch sizes."""
    results = built({"1n1g": [350.0, 351.0]}, batch_size_per_device=196)
    (group,) = against_published(results, rows("reference_004_paddle"))["not_compared"]
    assert group["never"] == []
    assert group["nearest"] == "reference_004_paddle/fp32_b128/1n1g"
    assert group["differences"] == [
        {"condition": "batch_size_per_device", "measured": 196, "published": 128}
    ]


def test_an_unknown_gpu_forbids_a_ratio_until_it_is_stated():
    results = built(REFERENCE_004, nodes={})
    found = against_published(results, rows("reference_004_paddle"))
    (group,) = found["not_compared"]
    assert found["compared"] == [] and group["differences"] == []
    assert [one["condition"] for one in group["unknown"]] == ["gpu"]
    again = against_published(built(REFERENCE_004, {}, STATED), rows("reference_004_paddle"))
    assert len(again["compared"]) == len(REFERENCE_004) and again["stated"] == STATED


def test_cells_without_a_speed_and_rows_without_a_figure_are_left_out():
    results = built({"1n1g": [352.0, 353.0], "1n8g": [None, None]})
    dash = [{**row, "throughput": None} for row in rows("reference_004_paddle")]
    assert against_published(results, dash)["rows"] == 0
    found = against_published(results, rows("reference_004_paddle"))
    assert {one["cell"]["topology"] for one in found["compared"]} == {"1n1g"}
    assert found["not_compared"] == []
