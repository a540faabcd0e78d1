"""docs/results-files.md names every key, column and metric where a reader looks for it."""

import json
import re
from pathlib import Path

from action_calls import TEMPLATES as REPORT
from action_calls import result as run_action
from ansible_collections.scalebench.core.plugins.module_utils.history.history import build_history
from ansible_collections.scalebench.core.plugins.module_utils.history.trends import entry
from ansible_collections.scalebench.core.plugins.module_utils.records.plans import Plan
from ansible_collections.scalebench.core.plugins.module_utils.records.results import (
    Adaptive,
    Elapsed,
    Interval,
    MeasuredCell,
    Provenance,
    Repeat,
    Results,
    Spread,
    Treatments,
)
from ansible_collections.scalebench.core.plugins.module_utils.records.runs import (
    Figures,
    Message,
    RankWaits,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.columns import CSV, columns_of
from ansible_collections.scalebench.core.plugins.module_utils.report.exports import prometheus_text
from ansible_collections.scalebench.core.plugins.module_utils.results.results import (
    SCHEMA,
    build_results,
)
from diagnosis_data import log_of, measured
from history_data import nightly
from report_data import campaign, cell, recorded
from written_campaigns import write_campaign

from action_plugins import diagnosis_report

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "results-files.md").read_text()
TEMPLATES = [REPORT[0].replace("/report/", "/diagnosis/"), *REPORT]
NAME = re.compile(r"`([a-z0-9_]+)`")


def section(heading, page=TEXT):
    """Return the text of a page below a heading."""
    (text,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    return text


def tables(heading):
    """Return the rows of each table below a heading: name to what the row says of it."""
    found = []
    for rows in re.findall(r"^\|[ -]+(?:\|[ -]+)+\|\n((?:\|.*\n)+)", section(heading), re.M):
        cells = [row.split("|", 2) for row in rows.splitlines()]
        found.append({name: rest for _, names, rest in cells for name in NAME.findall(names)})
    return found


def told(row):
    """Return what a row of a table names in turn."""
    return set(NAME.findall(row))


RESULTS, CELL, REPEAT = tables("results.json")
(METRICS,) = tables("scalebench.prom")


def metrics_of(results):
    """Return the names of the metrics of scalebench.prom."""
    return set(re.findall(r"^# TYPE (\S+)", prometheus_text(results), re.MULTILINE))


def test_every_key_is_documented():
    for table, part in ((RESULTS, Results), (CELL, MeasuredCell), (REPEAT, Repeat)):
        missing = {*part.__annotations__} - table.keys()
        assert not missing, f"add rows to the table of {part.__name__} in docs/results-files.md"
    assert RESULTS.keys() <= {*Results.__annotations__}
    for row, part in (
        (RESULTS["provenance"], Provenance),
        (CELL["interval"], Interval),
        (CELL["spread"], Spread),
        (CELL["elapsed"], Elapsed),
        (CELL["adaptive"], Adaptive),
        (REPEAT["figures"], Figures),
        (REPEAT["waits"], RankWaits),
        (REPEAT["message"], Message),
        (RESULTS["treatments"], Treatments),
    ):
        assert {*part.__annotations__} <= told(row), part


def test_what_is_written_is_documented():
    of = cell("2n1g", repeats=3)
    made = [recorded(of, 1, 44.0), recorded(of, 2, None, ending="crashed", reason="x")]
    plan, runs = campaign({"1n1g": [24.0, 24.1]})
    plan.update(
        created="2026-11-21T04:28:55Z", controller={}, sha256="0", cells=[*plan["cells"], of]
    )
    results = build_results(plan, [*runs, *made])
    assert results.keys() <= RESULTS.keys()
    for part in ("provenance", "counts"):
        assert results[part].keys() <= told(RESULTS[part])
    for one in results["cells"]:
        assert one.keys() <= CELL.keys()
        for repeat in one["repeats"]:
            assert repeat.keys() <= REPEAT.keys()
    metrics = metrics_of(results)
    assert "scalebench_throughput_samples_per_second" in metrics
    assert len(metrics) == 7, "correct the number here if you added a metric"
    assert metrics <= METRICS.keys()


def test_every_key_of_a_plan_is_documented():
    text = section("What is recorded", (DOCS / "evidence.md").read_text())
    assert {*Plan.__annotations__} <= set(re.findall(r"`([a-z0-9_]+)[`.]", text))


def test_every_column_is_documented():
    assert {column.key for column in columns_of(CSV)} == told(section("results.csv"))


def test_the_keys_of_a_history_are_documented():
    history = build_history(
        [entry(one, one["campaign"]) for one in nightly([100.0, 101.0])], [], {}
    )
    *_, keys = tables("History")
    (trend,) = history["trends"]
    assert trend.keys() == keys.keys()
    assert trend["points"][0].keys() <= told(keys["points"])


def test_the_keys_of_a_diagnosis_are_documented(tmp_path):
    folder = write_campaign(tmp_path / "first", {"4n1g": 12.0})
    for log in folder.glob("logs/**/*.log"):
        log.write_text(log_of(measured(4, 1, link={(0, 1): 0.5})))
    run_action(
        diagnosis_report, {"campaign_dir": str(folder), "templates": TEMPLATES, "groups": {}}
    )
    written = json.loads((folder / "diagnosis.json").read_text())
    (keys,) = tables("diagnosis.json")
    assert written.keys() == keys.keys()
    for part in ("suspects", "alone", "pairs"):
        assert written[part][0].keys() <= told(keys[part])


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
    names = {*Figures.__annotations__}
    assert results["cells"][0]["figures"].keys() == names <= told(REPEAT["figures"])
    metrics = metrics_of(results)
    assert "scalebench_model_flops_per_second" in metrics
    assert len(metrics) == 11, "correct the number here if you added a metric"
    assert metrics <= METRICS.keys()
