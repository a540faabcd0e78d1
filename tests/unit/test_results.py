"""results.json from plans and run records: the seeds' facts, failures as results, provenance."""

import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.results import (
    build_results,
    only_facts,
)
from report_data import PRINTED_004, SEED_004, campaign, cell, run


def test_seed_004_to_the_digit():
    plan, runs = campaign(SEED_004, batch_size_per_device=128, variant="bz128")
    results = build_results(plan, runs)
    expected = {
        topology: {
            "average_speed": average,
            "batch_size_per_device": 128,
            "median_speed": median,
            "speedup": speedup,
        }
        for topology, (average, median, speedup) in PRINTED_004.items()
    }
    assert results["facts"] == {"pytorch": {"fp32": {"bz128": {"r50": expected}}}}
    assert only_facts(results) == {"r50": expected}
    assert results["counts"]["ok"] == 36
    json.dumps(results, allow_nan=False)


def test_cell_has_spread_intervals_and_wall_clock():
    plan, runs = campaign(SEED_004)
    found = {c["topology"]: c for c in build_results(plan, runs)["cells"]}["1n8g"]
    assert found["state"] == "measured"
    assert found["devices"] == 8
    assert found["efficiency"] == 0.93
    assert [r["throughput"] for r in found["repeats"]] == SEED_004["1n8g"]
    assert found["spread"]["minimum"] == 2612.02
    assert found["spread"]["maximum"] == 2636.74
    assert found["spread"]["cv"] == pytest.approx(0.0034, abs=1e-4)
    assert found["interval"]["low"] <= found["median_speed"] <= found["interval"]["high"]
    assert found["speedup_interval"]["low"] <= 7.44 <= found["speedup_interval"]["high"]
    assert found["wall_clock_throughput"] == pytest.approx(0.99 * 2625.38, abs=0.01)
    assert found["unit"] == "images/s"


def test_strategies_rules_and_nodes_are_kept():
    plan, runs = campaign({"1n1g": [10.0]})
    plan.update(commit="abc", created="2026-11-21T00:00:00Z", nodes={"node1": {"cores": 2}})
    provenance = build_results(plan, runs)["provenance"]
    (strategy,) = provenance["strategies"]
    assert strategy["name"] == "mean_after_warmup"
    assert strategy["parameters"] == {"warmup": 20}
    assert "arithmetic mean" in strategy["about"]
    assert provenance["readers"] == ["scalebench"]
    assert provenance["commit"] == "abc"
    assert provenance["nodes"] == {"node1": {"cores": 2}}
    assert "median" in provenance["rules"]["median_speed"]


def test_failed_repeat_is_a_result_with_a_reason():
    plan, runs = campaign({"1n1g": [10.0, 11.0, 12.0], "2n1g": [20.0, 20.0, 20.0]})
    runs[4] = run(runs[4]["cell"], 2, None, ending="stalled", reason="no output for 300 s")
    runs[5] = run(runs[5]["cell"], 3, None)
    results = build_results(plan, runs)
    two = results["cells"][1]
    assert two["state"] == "partial"
    assert two["median_speed"] == 20.0
    assert [(f["repeat"], f["ending"]) for f in two["failures"]] == [
        (2, "stalled"),
        (3, "invalid"),
    ]
    assert two["failures"][0]["reason"] == "no output for 300 s"
    assert results["counts"]["failed"] == 2


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf"), None])
def test_a_speed_that_is_none_spoils_nothing_else(speed):
    plan, runs = campaign({"1n1g": [10.0, 10.0], "2n1g": [20.0, 20.0]})
    runs[0]["facts"]["throughput"] = speed
    results = build_results(plan, runs)
    assert results["cells"][0]["failures"][0]["ending"] == "invalid"
    assert results["facts"]["pytorch"]["fp32"]["bz4"]["r50"]["2n1g"]["speedup"] == 2.0
    json.dumps(results, allow_nan=False)


def test_no_baseline_is_null_with_a_reason():
    results = build_results(*campaign({"2n1g": [20.0], "10n8g": [900.0]}))
    figures = results["facts"]["pytorch"]["fp32"]["bz4"]["r50"]
    assert list(figures) == ["2n1g", "10n8g"]
    assert [f["speedup"] for f in figures.values()] == [None, None]
    assert all("no speed of 1n1g" in c["speedup_reason"] for c in results["cells"])
    assert set(figures["2n1g"]) == {
        "average_speed",
        "batch_size_per_device",
        "median_speed",
        "speedup",
    }


def test_all_failed_and_nothing_run():
    plan, runs = campaign({"1n1g": [1.0], "2n1g": [1.0]})
    failed = [run(runs[0]["cell"], 1, None, ending="crashed", reason="exit code 1")]
    results = build_results(plan, failed)
    assert [c["state"] for c in results["cells"]] == ["failed", "not_run"]
    assert results["counts"] == {
        "cells": 2,
        "planned": 2,
        "ok": 0,
        "failed": 1,
        "not_run": 1,
        "unmatched": 0,
    }
    assert results["facts"]["pytorch"]["fp32"]["bz4"]["r50"]["1n1g"]["median_speed"] is None
    assert build_results({"campaign": "x"}, [])["cells"] == []


def test_one_repeat_has_no_interval_and_says_so():
    found = build_results(*campaign({"1n1g": [10.0]}))["cells"][0]
    assert found["spread"]["cv"] is None
    assert found["interval"]["low"] is None
    assert "one value" in found["interval"]["reason"]


@pytest.mark.parametrize("repeats", [13, 200, 300])
def test_many_repeats_never_break_a_report(repeats):
    speeds = {"1n1g": [10.0 + i for i in range(repeats)], "2n1g": [20.0] * repeats}
    found = build_results(*campaign(speeds))["cells"][1]
    assert found["median_speed"] == 20.0
    assert found["speedup_interval"]["reason"]


def test_precisions_and_variants_have_baselines_of_their_own():
    plan, runs = campaign({"1n1g": [10.0], "2n1g": [20.0]})
    for changes, speeds in (
        ({"precision": "amp"}, {"1n1g": [40.0], "2n1g": [60.0]}),
        ({"variant": "bz4-xla"}, {"2n1g": [33.0]}),
    ):
        other, more = campaign(speeds, **changes)
        plan["cells"] += other["cells"]
        runs += more
    facts = build_results(plan, runs)["facts"]["pytorch"]
    assert facts["fp32"]["bz4"]["r50"]["2n1g"]["speedup"] == 2.0
    assert facts["amp"]["bz4"]["r50"]["2n1g"]["speedup"] == 1.5
    assert facts["fp32"]["bz4-xla"]["r50"]["2n1g"]["speedup"] is None
    assert only_facts(build_results(plan, runs)) == {"pytorch": facts}


def test_oversubscribed_comes_from_the_records_else_from_the_plan():
    plan, runs = campaign({"1n1g": [10.0], "2n1g": [20.0]}, oversubscribed=True)
    runs[1]["oversubscribed"] = None
    flags = [c["oversubscribed"] for c in build_results(plan, runs)["cells"]]
    assert flags == [False, True]


def test_record_without_a_planned_cell_is_kept():
    plan, runs = campaign({"1n1g": [10.0]})
    runs.append(run(cell("4n1g", 1), 1, 35.0))
    assert [c["topology"] for c in build_results(plan, runs)["cells"]] == ["1n1g", "4n1g"]
