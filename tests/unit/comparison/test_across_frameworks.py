"""Benchmarks side by side: which cells share a table, and why a place of it is empty."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.comparison.across_frameworks import (
    across_frameworks,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.across_text import sections
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign, cell, run

SYNTHETIC = {"1n1g": [100.0, 101.0, 99.0], "1n8g": [700.0, 702.0, 698.0]}
SLOWER = {place: [0.8 * speed for speed in SYNTHETIC[place]] for place in SYNTHETIC}


def built(*groups, name="mine", options=None):
    """Return the results of synthetic groups: (speeds, what changes in their cells)."""
    plan, runs = {"campaign": name, "cells": [], "options": options or {}, "nodes": {}}, []
    for speeds, changes in groups:
        one, made = campaign(speeds, **{"recipe": "portable", **changes})
        plan["cells"] += one["cells"]
        runs += made
    return build_results(plan, runs)


def two(second=SLOWER, **changes):
    """Return the results of benchmark ``a`` and of ``b``, of which something may be different."""
    return built((SYNTHETIC, {"benchmark": "a"}), (second, {"benchmark": "b", **changes}))


def test_two_benchmarks_share_a_table_with_all_topologies():
    (table,) = across_frameworks([two({"1n1g": [80.0, 81.0], "2n8g": [1200.0, 1201.0]})])
    assert (table["model"], table["precision"], table["batch_size_per_device"]) == (
        "r50",
        "fp32",
        4,
    )
    assert table["columns"] == ["a", "b"] and table["unit"] == "images/s"
    assert [row["topology"] for row in table["rows"]] == ["1n1g", "1n8g", "2n8g"]
    assert table["rows"][0]["throughput"] == {"a": 100.0, "b": 80.5}
    assert table["rows"][1]["speedup"] == {"a": 7.0, "b": None}
    assert table["rows"][1]["no_throughput"] == {"b": "not planned"}


def test_images_are_the_samples_of_another_log():
    assert len(across_frameworks([two(unit="samples/s")])) == 1


@pytest.mark.parametrize(
    "apart",
    [
        {"precision": "amp"},
        {"batch_size_per_device": 8, "variant": "bz8"},
        {"model": "bert"},
        {"data": "real"},
        {"image_size": 224},
        {"unit": "tokens/s"},
        {"device": "cpu"},
        {"benchmark": "a", "variant": "bz4-xla"},
    ],
)
def test_what_differs_in_more_than_the_benchmark_shares_no_table(apart):
    assert across_frameworks([two(**apart)]) == []
    assert sections(two(**apart)) == []


def test_variants_of_a_benchmark_are_columns_of_their_own():
    results = built(
        (SYNTHETIC, {"benchmark": "a"}),
        (SYNTHETIC, {"benchmark": "a", "variant": "bz4-xla-dali"}),
        (SLOWER, {"benchmark": "b"}),
    )
    (table,) = across_frameworks([results])
    assert table["columns"] == ["a", "a (xla, dali)", "b"]


def test_several_results_are_put_side_by_side():
    first = built((SYNTHETIC, {"benchmark": "a"}), name="one")
    second = built((SLOWER, {"benchmark": "b"}), name="two")
    (table,) = across_frameworks([first, second])
    assert table["columns"] == ["a", "b"]
    third = built((SLOWER, {"benchmark": "a"}), name="three")
    (table,) = across_frameworks([first, second, third])
    assert table["columns"] == ["a of one", "b of two", "a of three"]


def test_a_log_tree_names_its_columns_by_framework_where_that_tells_them_apart():
    plan, runs = {"campaign": "tree", "options": {"log_dir": "x"}}, []
    for folder, reader in (("x/one", "mxnet_dllogger"), ("two", "tensorflow_official")):
        for record in campaign(SYNTHETIC, benchmark=folder)[1]:
            runs.append({**record, "facts": {**record["facts"], "reader": reader}})
    (table,) = across_frameworks([build_results(plan, runs)])
    assert table["columns"] == ["mxnet", "tensorflow"]
    for record in runs:
        record["facts"]["reader"] = "scalebench"
    (table,) = across_frameworks([build_results(plan, runs[:-3])])
    assert table["columns"] == ["x/one", "two"]
    assert table["rows"][1]["no_throughput"] == {"two": "no log"}


def test_an_empty_place_has_its_reason():
    cells = [cell(place, 2, benchmark=name) for name in "ab" for place in ("1n1g", "1n8g", "4n8g")]
    cells.append(cell("2n8g", 1, benchmark="a", variant="bz8", batch_size_per_device=8))
    cells.append(cell("2n8g", 1, benchmark="b"))
    runs = [run(cells[0], 1, 10.0), run(cells[0], 2, 11.0)]
    runs.append(run(cells[1], 1, None, ending="crashed", reason="node2: exit code 1"))
    plan = {"campaign": "mine", "cells": cells, "options": {}, "nodes": {}}
    (table,) = across_frameworks([build_results(plan, runs)])
    reasons = {row["topology"]: row["no_throughput"] for row in table["rows"]}
    assert reasons["1n1g"] == {"b": "not run"}
    assert reasons["1n8g"] == {"a": "failed: node2: exit code 1", "b": "not run"}
    assert reasons["2n8g"] == {"a": "only with batch size 8 per device", "b": "not run"}


def test_an_invalid_speed_up_is_not_shown_and_has_its_reason():
    beyond = {**SYNTHETIC, "1n8g": [1000.0, 1001.0, 999.0]}
    (table,) = across_frameworks([two(beyond)])
    row = next(row for row in table["rows"] if row["topology"] == "1n8g")
    assert (row["throughput"]["b"], row["speedup"]["b"]) == (1000.0, None)
    assert row["no_speedup"]["b"].startswith("invalid: ")
    assert row["fastest"] is None


def test_a_benchmark_with_other_batch_sizes_is_named():
    results = built(
        (SYNTHETIC, {"benchmark": "a"}),
        (SLOWER, {"benchmark": "b"}),
        (SYNTHETIC, {"benchmark": "c", "batch_size_per_device": 8, "variant": "bz8"}),
    )
    (table,) = across_frameworks([results])
    assert table["elsewhere"] == {"c": [8]}
    (found,) = sections(results)
    assert "r50 fp32, batch size 4: c was run only with batch size 8" in found["items"]


def test_nothing_measured_makes_no_table():
    assert across_frameworks([two({"1n1g": [None]})]) != []
    nothing = built(({"1n1g": [None]}, {"benchmark": "a"}), ({"1n1g": [None]}, {"benchmark": "b"}))
    assert across_frameworks([nothing]) == []


def test_the_section_has_throughput_speedup_and_the_fastest():
    (found,) = sections(two())
    throughput, speedup = found["tables"]
    assert throughput["caption"].endswith("weak scaling: throughput in images/s")
    assert [column["name"] for column in throughput["columns"]] == ["topology", "a", "b", "fastest"]
    assert [column["numeric"] for column in throughput["columns"]] == [False, True, True, False]
    assert [row[-1]["text"] for row in throughput["rows"]] == ["a", "a"]
    assert [row[1]["text"] for row in speedup["rows"]] == ["1.00", "7.00"]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"1n1g": [100.5, 100.0, 99.0]}, "not decided (within noise)"),
        ({"1n1g": [80.0]}, "not decided (one repeat)"),
        ({"1n1g": [None]}, "-"),
    ],
)
def test_a_lead_that_is_not_known_is_not_marked(second, said):
    (found,) = sections(two(second))
    assert found["tables"][0]["rows"][0][-1]["text"] == said


def test_reasons_stand_below_the_tables_with_their_topologies():
    (found,) = sections(two({"1n1g": [80.0, 81.0], "2n8g": [None], "4n8g": [None]}))
    assert "r50 fp32, batch size 4: a, 2n8g, 4n8g: not planned" in found["items"]
    assert any(item.startswith("r50 fp32, batch size 4: b, 2n8g") for item in found["items"])
