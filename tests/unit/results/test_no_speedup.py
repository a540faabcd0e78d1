"""Figures that do not grow with the devices have no speed-up, even where 1n1g was measured."""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.report.remarks import remarks
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign

WHY = "it is a bandwidth"


def results_of(why=None):
    plan, runs = campaign({"1n1g": [100.0] * 3, "2n1g": [150.0] * 3})
    if why:
        for cell in [*plan["cells"], *(run["cell"] for run in runs)]:
            cell["no_speedup"] = why
    return build_results(plan, runs)


def test_the_reason_stands_in_the_place_of_speedup_and_efficiency():
    cells = results_of(WHY)["cells"]
    assert [cell["median_speed"] for cell in cells] == [100.0, 150.0]
    assert {cell["speedup_reason"] for cell in cells} == {WHY}
    assert {cell["no_speedup"] for cell in cells} == {WHY}
    for key in ("speedup", "efficiency", "speedup_interval"):
        assert {cell[key] for cell in cells} == {None}
    assert any(said.endswith(f"no speed-up, because {WHY}.") for said in remarks(results_of(WHY)))


def test_a_figure_that_falls_with_the_devices_is_not_unexpected():
    plan, runs = campaign({"1n2g": [200.0, 201.0, 202.0], "1n4g": [100.0, 101.0, 102.0]})
    rules = [one["rule"] for one in build_results(plan, runs)["cells"][1]["warnings"]]
    assert rules == ["more_devices_not_slower"]
    for cell in [*plan["cells"], *(run["cell"] for run in runs)]:
        cell["no_speedup"] = WHY
    results = build_results(plan, runs)
    assert results["cells"][1]["warnings"] == []
    assert results["provenance"]["checks"]["warning"] == {}


def test_other_benchmarks_have_one():
    cells = results_of()["cells"]
    assert [cell["speedup"] for cell in cells] == [1.0, 1.5]
    assert "no_speedup" not in cells[0]


def test_logs_that_count_different_things_have_no_speed_up():
    plan, runs = campaign({"1n1g": [100.0] * 3, "2n1g": [150.0] * 3})
    runs[0]["facts"]["unit"] = "samples/s"
    assert [cell["speedup"] for cell in build_results(plan, runs)["cells"]] == [1.0, 1.5]
    runs[1]["facts"]["unit"] = "tokens/s"
    for cell in build_results(plan, runs)["cells"]:
        assert cell["speedup"] is None
        why = "the logs count in different units: images/s, samples/s, tokens/s"
        assert cell["speedup_reason"] == why


def test_what_counts_different_things_is_not_compared():
    plan, runs = campaign({"1n1g": [10000.0] * 3, "2n1g": [150.0] * 3})
    warned = [len(cell["warnings"]) for cell in build_results(plan, runs)["cells"]]
    assert warned == [0, 1]
    for run in runs[3:]:
        run["facts"]["unit"] = "sequences/s"
    assert [cell["warnings"] for cell in build_results(plan, runs)["cells"]] == [[], []]
