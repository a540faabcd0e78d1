"""What the preflight said, in report.md and on the page."""

import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.layout.sections import markdown
from ansible_collections.scalebench.core.plugins.module_utils.preflight.judge import judge
from ansible_collections.scalebench.core.plugins.module_utils.report.optional_sections import (
    before_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import read_campaign
from report_data import campaign


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a campaign without a preflight."""
    plan, runs = campaign({"1n1g": [24.0, 24.1]})
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    for run in runs:
        path = tmp_path / run["log"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".run.json").write_text(json.dumps(run))
    return tmp_path


def results_with(folder, verdicts):
    """Return the results of a campaign whose preflight said this."""
    (folder / "preflight.json").write_text(json.dumps(verdicts))
    return read_campaign(folder, "auto", {}).results


def healthy(**changes):
    """Return what a node without GPUs tells."""
    fingerprint = {"os": "Debian 12", "kernel": "6.1", "disk_free_mib": 900}
    told = {"fingerprint": fingerprint, "memlock_kib": -1, "clock_skew": [0.0, 0.1]}
    return {**told, "xid": None, "peers": None, **changes}


def test_what_is_not_well_stands_with_its_node_and_what_to_do(folder):
    nodes = {"node1": healthy(), "node2": healthy(clock_skew=[1.0, 1.2])}
    results = results_with(folder, judge(nodes))
    (section,) = before_sections(results)
    text = markdown(section)
    assert text.startswith("## Preflight\n\nPreflight of 2 node(s): 1 warn, ")
    row = "warn +| clock +| node2 +| 1.00 s off at least +| synchronise it with chrony"
    assert all(piece.strip(" +") in text for piece in row.split("|"))
    assert "node1" not in text
    assert [part["title"] for part in page(results, {}, [], {})["before"]] == ["Preflight"]


def test_a_preflight_that_passed_is_one_sentence(folder):
    judged = judge({"node1": healthy()})
    (section,) = before_sections(results_with(folder, judged))
    assert section["tables"] == []
    skipped = sum(row["verdict"] == "skip" for row in judged["rows"])
    assert section["paragraphs"] == [f"Preflight of 1 node(s): 5 pass, {skipped} skip."]


def test_one_that_was_left_out_is_said(folder):
    off = {"verdict": "skip", "counts": {"fail": 0}, "rows": []}
    off["summary"] = "the preflight was turned off (-e preflight=false)"
    (section,) = before_sections(results_with(folder, off))
    assert section["paragraphs"] == ["The preflight was turned off (-e preflight=false)."]


def test_a_campaign_of_before_has_no_such_section(folder):
    results = read_campaign(folder, "auto", {}).results
    assert "preflight" not in results
    assert before_sections(results) == []


WHOLE = {"verdict": "fail", "summary": "1 fail", "counts": {"fail": 1}, "rows": []}


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([], "preflight.json is [], not a mapping"),
        ({"verdict": "pass"}, "preflight.json has no counts, rows, summary"),
        ({**WHOLE, "rows": 3}, "preflight.json.rows is 3, not a list"),
        ({**WHOLE, "rows": [{}]}, "rows[0] has no check, found, node, todo, verdict"),
        ({**WHOLE, "counts": {"fail": "1"}}, "counts.fail is '1', not a whole number"),
        ({**WHOLE, "summary": None}, "preflight.json.summary is None, not a text"),
    ],
)
def test_a_damaged_file_is_named_and_the_campaign_reported(folder, verdicts, said):
    results = results_with(folder, verdicts)
    assert "preflight" not in results
    (reason,) = [one["reason"] for one in results["unmatched"] if one["path"] == "preflight.json"]
    assert reason.startswith("it cannot be read: preflight.json") and reason.endswith(said)


def test_of_many_rows_the_first_are_shown_and_the_rest_is_counted(folder):
    nodes = {f"node{number}": healthy(clock_skew=[9.0 + number] * 2) for number in range(120)}
    (section,) = before_sections(results_with(folder, judge(nodes)))
    assert len(section["tables"][0]["rows"]) == 100
    assert "The first 100 of 120" in section["paragraphs"][1]


def test_nodes_with_the_same_problem_share_a_row(folder):
    nodes = {f"node{number}": healthy(clock_skew=[9.0, 9.1]) for number in range(1, 121)}
    (section,) = before_sections(results_with(folder, judge(nodes)))
    ((row,),) = [table["rows"] for table in section["tables"]]
    assert [cell["text"] for cell in row][:4] == [
        *("fail", "clock", "node[1-120]", "9.00 s off at least"),
    ]
