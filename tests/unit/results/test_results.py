"""results.json from plans and run records: the reference facts, failures as results, provenance."""

import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.results.results import (
    build_results,
    only_facts,
)
from report_data import PRINTED_004, REFERENCE_004, campaign, cell, disturbed, recorded, run


def test_reference_004_to_the_digit():
    plan, runs = campaign(REFERENCE_004, batch_size_per_device=128, variant="bz128")
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
    plan, runs = campaign(REFERENCE_004)
    found = {c["topology"]: c for c in build_results(plan, runs)["cells"]}["1n8g"]
    assert found["state"] == "measured"
    assert found["devices"] == 8
    assert found["efficiency"] == 0.9304, "not 7.44 / 8"
    assert [r["throughput"] for r in found["repeats"]] == REFERENCE_004["1n8g"]
    assert found["spread"]["minimum"] == 2612.02
    assert found["spread"]["maximum"] == 2636.74
    assert found["spread"]["cv"] == pytest.approx(0.0034, abs=1e-4)
    assert found["interval"]["low"] <= found["median_speed"] <= found["interval"]["high"]
    assert found["speedup_interval"]["low"] <= 7.44 <= found["speedup_interval"]["high"]
    assert found["wall_clock_throughput"] == pytest.approx(0.99 * 2625.38, abs=0.01)
    assert found["unit"] == "images/s"


def test_strategies_rules_and_nodes_are_kept():
    plan, runs = campaign({"1n1g": [10.0]})
    controller = {"ansible_core": "2.19.14", "commit": "abc", "dirty": True}
    plan.update(
        controller=controller,
        sha256="d1",
        created="2026-11-21T00:00:00Z",
        nodes={"node1": {"cores": 2}},
    )
    provenance = build_results(plan, runs)["provenance"]
    (strategy,) = provenance["strategies"]
    assert strategy["name"] == "mean_after_warmup"
    assert strategy["parameters"] == {"warmup": 20}
    assert "arithmetic mean" in strategy["about"]
    assert provenance["readers"] == ["scalebench"]
    assert provenance["controller"] == controller
    assert provenance["sha256"] == "d1"
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
def test_an_invalid_speed_affects_no_other_repeat(speed):
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
        "unavailable": 0,
        "skipped": 0,
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


@pytest.mark.parametrize("repeats", [13, 300])
def test_many_repeats_have_intervals_too(repeats):
    speeds = {"1n1g": [10.0 + i for i in range(repeats)], "2n1g": [20.0] * (repeats + 1)}
    found = build_results(*campaign(speeds))["cells"][1]
    assert found["median_speed"] == 20.0
    assert found["speedup_interval"]["low"] <= found["speedup"] <= found["speedup_interval"]["high"]
    assert found["interval"]["coverage"] >= 0.95
    assert found["speedup_interval"]["n"] == repeats


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


def endings(failures):
    return [(one["log"], one["ending"]) for one in failures]


def test_only_measured_repeats_make_cells():
    plan, runs = campaign({"1n1g": [10.0, 10.0]})
    one = plan["cells"][0]
    runs.append(recorded(one, 1, 99.0, kind="alone", log="logs/1n1g/1_alone.log"))
    probe = cell("1n1g", 1, variant="bz8", batch_size_per_device=8)
    runs.append(recorded(probe, 1, 99.0, kind="search"))
    runs[-1]["facts"]["strategy"] = {"name": "median", "parameters": {}}
    results = build_results(plan, runs)
    assert [one["name"] for one in results["provenance"]["strategies"]] == ["mean_after_warmup"]
    (found,) = results["cells"]
    assert [repeat["throughput"] for repeat in found["repeats"]] == [10.0, 10.0]


def test_unavailable_fails_a_campaign_and_skipped_does_not():
    plan, runs = campaign({"1n1g": [10.0, 10.0], "2n1g": [20.0, 20.0], "4n1g": [1.0, 1.0]})
    one, two, four = plan["cells"]
    runs = [
        runs[0],
        recorded(one, 2, None, ending="out_of_memory", reason="node1: no memory"),
        *(recorded(two, i, None, ending="skipped", reason="out of memory at 2") for i in (1, 2)),
        *(recorded(four, i, None, ending="unavailable", reason="node4: no torch") for i in (1, 2)),
    ]
    results = build_results(plan, runs)
    assert [c["state"] for c in results["cells"]] == ["partial", "skipped", "unavailable"]
    assert [len(c["failures"]) for c in results["cells"]] == [1, 0, 0]
    assert [one["repeat"] for one in results["cells"][1]["skipped"]] == [1, 2]
    assert [results["counts"][key] for key in ("failed", "skipped", "unavailable")] == [1, 2, 2]
    assert endings(results["failures"]) == [
        ("logs/1n1g/2.log", "out_of_memory"),
        ("logs/4n1g/1.log", "unavailable"),
        ("logs/4n1g/2.log", "unavailable"),
    ]


def test_excused_cells_fail_only_a_campaign_that_measured_nothing():
    plan, runs = campaign({"1n1g": [10.0, 10.0], "2n1g": [20.0, 20.0]})
    one, two = plan["cells"]
    reason = "node2: needs Python 3.7 (looked at python3.7 on the PATH: not there)"
    told = {"ending": "unavailable", "reason": reason}
    without = [recorded({**two, "excused": True}, i, None, **told) for i in (1, 2)]
    results = build_results(plan, [*runs[:2], *without])
    assert results["cells"][1]["state"] == "unavailable"
    assert results["counts"]["unavailable"] == 2
    assert results["failures"] == []
    without += [recorded({**one, "excused": True}, i, None, **told) for i in (1, 2)]
    assert len(build_results(plan, without)["failures"]) == 4


def test_a_cell_that_has_a_speed_and_skipped_repeats_is_partial():
    plan, runs = campaign({"1n1g": [10.0, 10.0]})
    runs[1] = recorded(plan["cells"][0], 2, None, ending="skipped", reason="out of memory at 2")
    assert build_results(plan, runs)["cells"][0]["state"] == "partial"


def test_a_speedup_above_the_ideal_is_invalid_and_its_figure_stays_as_the_reason():
    results = build_results(*campaign({"1n1g": [10.0] * 3, "2n1g": [33.0] * 3}))
    one, two = results["cells"]
    assert (one["state"], one["invalid"], one["speedup"]) == ("measured", [], 1.0)
    assert two["state"] == "invalid"
    assert two["invalid"][0]["rule"] == "speedup_at_most_ideal"
    assert two["speedup_reason"].startswith("invalid: speed-up 3.3 on 2 device(s)")
    assert (two["speedup"], two["efficiency"], two["speedup_interval"]) == (None, None, None)
    assert two["median_speed"] == 33.0
    facts = results["facts"]["pytorch"]["fp32"]["bz4"]["r50"]
    assert facts["2n1g"]["speedup"] is None
    assert facts["1n1g"]["speedup"] == 1.0
    assert results["failures"] == []


def test_warnings_of_a_cell_change_no_figure():
    results = build_results(*campaign({"1n1g": [10.0] * 3, "2n1g": [8.0] * 3}))
    two = results["cells"][1]
    assert [one["rule"] for one in two["warnings"]] == ["more_devices_not_slower"]
    assert (two["state"], two["speedup"]) == ("measured", 0.8)


def test_earlier_attempts_stand_beside_the_repeat():
    plan, runs = campaign({"1n1g": [10.0, 10.0]})
    log, of = runs[0]["log"], plan["cells"][0]
    earlier = [
        recorded(of, 1, None, ending="crashed", reason="node1: signal 9"),
        recorded(of, 1, None, ending="skipped", reason="out of memory at 2"),
        recorded(of, 1, 7.0, disturbances=disturbed("node1")),
    ]
    first, second = build_results(plan, runs, attempts={log: earlier})["cells"][0]["repeats"]
    assert (first["attempt"], second["attempt"]) == (3, 1)
    assert [one["ending"] for one in first["earlier"]] == ["crashed", "ok"]
    assert first["earlier"][0]["reason"] == "node1: signal 9"
    assert first["earlier"][1]["throughput"] == 7.0
    assert first["earlier"][1]["disturbances"][0]["node"] == "node1"
    assert first["throughput"] == 10.0


def test_a_repeat_that_is_to_run_again_keeps_its_attempts():
    plan, runs = campaign({"1n1g": [10.0, 10.0], "2n1g": [20.0]})
    crashed = recorded(plan["cells"][0], 2, None, ending="crashed", reason="node1: signal 9")
    results = build_results(plan, [runs[0], runs[2]], attempts={runs[1]["log"]: [crashed]})
    one, two = results["cells"]
    assert one["not_run"] == [2]
    assert [unfinished["log"] for unfinished in one["unfinished"]] == [runs[1]["log"]]
    assert one["unfinished"][0]["earlier"][0]["ending"] == "crashed"
    assert two["unfinished"] == []


def test_adaptive_repeats_tell_their_number_and_their_rule():
    plan, runs = campaign({"1n1g": [10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 10.0]})
    plan["options"] = {"half_width": 0.02, "max_repeats": 9}
    plan["cells"][0]["repeats"] = 3
    found = build_results(plan, runs)["cells"][0]
    assert found["repeats_planned"] == 7
    assert found["adaptive"]["enough"]
    assert found["adaptive"]["n"] == 7
    assert "asked for ±2.00%" in found["adaptive"]["why"]
    plan["cells"][0]["repeats"] = 8
    assert not build_results(plan, runs)["cells"][0]["adaptive"]["enough"], "the minimum is 8"
    plan["options"] = {}
    assert build_results(plan, runs)["cells"][0]["adaptive"] is None
    plan["options"] = {"half_width": 0.02}
    assert build_results(plan, [])["cells"][0]["adaptive"] is None


def test_a_failed_repeat_alone_fails_the_campaign_and_no_cell():
    plan, runs = campaign({"1n1g": [10.0]})
    plan["options"] = {"packing": "nodes"}
    log = "logs/1n1g/1_alone.log"
    alone = recorded(plan["cells"][0], 1, None, kind="alone", ending="crashed", log=log)
    results = build_results(plan, [*runs, alone])
    assert endings(results["failures"]) == [(log, "crashed")]
    assert results["cells"][0]["failures"] == []
    runs.append({**alone, "ending": "skipped"})
    assert build_results(plan, runs)["failures"] == []


def test_a_campaign_that_was_not_packed_has_no_interference():
    results = build_results(*campaign({"1n1g": [10.0]}))
    assert (results["packing"], results["interference"], results["searches"]) == (None, None, [])
