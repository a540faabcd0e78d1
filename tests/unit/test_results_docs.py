"""docs/results-files.md names every key of results.json, column of results.csv and metric."""

import re
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.history.trends import entry
from ansible_collections.scalebench.core.plugins.module_utils.records.runs import Figures
from ansible_collections.scalebench.core.plugins.module_utils.report.exports import (
    csv_text,
    prometheus_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import (
    SCHEMA,
    build_results,
)
from history_data import results_of
from report_data import campaign, cell, recorded

TEXT = (Path(__file__).resolve().parents[2] / "docs/results-files.md").read_text()
DOCUMENTED = set(re.findall(r"`([a-z0-9_]+)`", TEXT))


def test_every_key_is_documented():
    of = cell("2n1g", repeats=3)
    made = [recorded(of, 1, 44.0), recorded(of, 2, None, ending="crashed", reason="x")]
    plan, runs = campaign({"1n1g": [24.0, 24.1]})
    plan.update(
        created="2026-11-21T04:28:55Z", controller={}, sha256="0", cells=[*plan["cells"], of]
    )
    results = build_results(plan, [*runs, *made])
    keys = {*results, *results["provenance"], *results["counts"]}
    for one in results["cells"]:
        keys.update(one)
        for part in ("interval", "spread"):
            keys.update(one[part] or {})
        for repeat in one["repeats"]:
            keys.update(repeat)
    assert keys <= DOCUMENTED, keys - DOCUMENTED
    columns = set(csv_text(results).splitlines()[0].split(","))
    assert {name for name in columns if not re.fullmatch(r"repeat_\d+", name)} <= DOCUMENTED
    metrics = set(re.findall(r"^# TYPE (\S+)", prometheus_text(results), re.MULTILINE))
    assert len(metrics) == 7
    assert metrics <= DOCUMENTED


def test_the_point_of_a_trend_is_documented():
    (point,) = entry(results_of(0, {"1n1g": [100.0]}), "a")["points"]
    assert set(point) <= DOCUMENTED


def test_the_current_schema_has_its_row():
    assert re.search(rf"^\| {SCHEMA} \|", TEXT, re.MULTILINE)
    assert f"`schema`, {SCHEMA} today" in TEXT


def test_the_figures_of_a_model_are_documented():
    plan, runs = campaign({"1n1g": [10.0]})
    shares = {"nvidia": 0.3, "torchtitan": 0.3, "stated": 0.3}
    parts = dict.fromkeys(("launch", "import", "build", "first_step"), 1.0)
    names = dict.fromkeys({*Figures.__annotations__} - {"mfu", "first_step", "peak_source"}, 1.0)
    figures = {**names, "mfu": shares, "first_step": parts, "peak_source": "measured"}
    runs[0]["facts"]["summary"] = {"figures": figures}
    results = build_results(plan, runs)
    assert set(results["cells"][0]["figures"]) == {*Figures.__annotations__} <= DOCUMENTED
    columns = set(csv_text(results).splitlines()[0].split(",")) - {"repeat_1"}
    assert columns <= DOCUMENTED, columns - DOCUMENTED
    metrics = set(re.findall(r"^# TYPE (\S+)", prometheus_text(results), re.MULTILINE))
    assert len(metrics) == 11
    assert metrics <= DOCUMENTED
