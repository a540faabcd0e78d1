"""A campaign that the code of version 0.1 made (commit 654315c) is read, compared and shown today.

Its trainings were real, on two local nodes; of the files only paths, host name, identifiers of the
machine and its virtual interfaces were replaced.
"""

import json
import shutil

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.comparison.baseline import (
    compare_campaigns,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_changes import (
    differences,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    declared_factors,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.conditions import (
    cell_conditions,
)
from ansible_collections.scalebench.core.plugins.module_utils.records.factors import own_values
from ansible_collections.scalebench.core.plugins.module_utils.records.plans import check_plan
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import (
    read_campaign,
    read_log_tree,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import report_files
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import (
    read_campaigns,
    read_results,
)
from campaign_data import ROOT, benchmarks, cluster

FIXTURE = ROOT / "tests/fixtures/campaigns/version_0_1"
# By hand, from the lines of iterations 2 to 6 of the four logs: means, then medians of two.
SPEEDS = {"1n1g": [11.13, 9.56], "2n1g": [8.97, 8.62]}
TODAY = {"created": "2026-12-01T00:00:00Z", "sha256": "1"}
MEDIANS = {"1n1g": 10.34, "2n1g": 8.8}


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(FIXTURE, tmp_path / "results/version_0_1")


@pytest.fixture
def results(folder):
    return read_campaign(folder, "auto", {}).results


def by_topology(results, key):
    return {cell["topology"]: cell[key] for cell in results["cells"]}


def test_its_logs_give_the_figures_that_it_gave(results):
    then = json.loads((FIXTURE / "results.json").read_text())
    for key in ("median_speed", "average_speed", "speedup", "state", "unit"):
        assert by_topology(results, key) == by_topology(then, key)
    # Version 0.1 divided the rounded speed-up, 0.85.
    assert by_topology(results, "efficiency") == {"1n1g": 1.0, "2n1g": 0.4251}
    assert by_topology(results, "median_speed") == MEDIANS
    assert results["facts"] == then["facts"]
    found = {c["topology"]: [r["throughput"] for r in c["repeats"]] for c in results["cells"]}
    assert found == SPEEDS
    assert not results["failures"]


def test_images_and_their_size_stand_where_they_stood(results):
    assert {cell["unit"] for cell in results["cells"]} == {"images/s"}
    assert {cell["own_factors"]["image_size"] for cell in results["cells"]} == {32}
    known = cell_conditions(results["cells"][0], results)
    assert (known["model"], known["own_factors"]["image_size"]) == ("r50", 32)


def test_every_file_of_a_report_shows_it(folder):
    measured = read_campaign(folder, "auto", {})
    files = report_files(measured, [ROOT / "roles/report/templates"], plots=True, png=False)
    shown = {name: content.decode() for name, content in files.items()}
    for name in ("report.html", "report.md", "results.csv", "scalebench.prom"):
        assert "10.34" in shown[name], name
    assert "2 of 2" in shown["report.md"]
    assert "Weak scaling" in shown["report.html"]
    assert "step_time.svg" not in shown
    assert shown["junit.xml"].count("<testcase") >= 4


def test_the_tree_of_its_logs_is_read_without_its_plan(folder):
    rule = {"warmup": 1, "iterations": 5}
    found = read_log_tree(str(folder / "logs"), "mean_after_warmup", rule).results
    assert by_topology(found, "median_speed") == MEDIANS
    assert by_topology(found, "speedup")["2n1g"] == 0.85
    # The header states one, which in weak scaling is no factor and not compared.
    assert {cell_conditions(cell, found)["global_batch_size"] for cell in found["cells"]} == {None}


def test_its_results_file_is_a_baseline(results):
    then = read_results(FIXTURE / "results.json")
    today = {**results, "campaign": "today", "provenance": {**results["provenance"], **TODAY}}
    compared = compare_campaigns(today, [then], 0.02, "version_0_1")
    assert [cell["topology"] for cell in compared["cells"]] == ["1n1g", "2n1g"]
    assert compared["not_compared"] == []
    assert [cell["ratio"] for cell in compared["cells"]] == pytest.approx([1, 1])


def test_it_is_a_point_of_a_history(folder):
    (entry,), left_out = read_campaigns(folder.parent)
    assert left_out == []
    assert [point["median"] for point in entry["points"]] == list(MEDIANS.values())
    assert {point["conditions"]["scaling"] for point in entry["points"]} == {"weak"}


def test_todays_plan_of_the_same_options_has_the_same_cells():
    then = check_plan(json.loads((FIXTURE / "plan.json").read_text()))
    options = parse_options(then["options"], own=declared_factors(benchmarks()))
    now = plan.build(benchmarks(), options, cluster(4))
    keys = ("benchmark", "model", "variant", "directory", "name", "precision")
    assert [[cell[key] for key in keys] for cell in now["cells"]] == [
        [cell[key] for key in keys] for cell in then["cells"]
    ]
    assert [own_values(cell) for cell in now["cells"]] == [
        own_values(cell) for cell in then["cells"]
    ]
    # What differs are machine, commands and keys that are newer, never what a cell is.
    changed = [one for one in differences(then, now) if "command on" not in one]
    assert not [one for one in changed if "requested" in one or "batch" in one or "scaling" in one]
