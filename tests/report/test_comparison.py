"""-e baseline= and -e gate=: output and exit code of report.yml, input that bench.yml refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from local_nodes import ROOT, TIMED_STEPS, events, failures
from playbook_runs import run_playbook
from written_campaigns import fail_repeat, write_campaign

RULES = {"broken_rules": [], "unshown_rules": [], "undecided_rules": []}
GOOD = {"kind": "ok", "failures": [], **RULES}


@pytest.fixture
def results(tmp_path):
    """Return a folder with two campaigns; the later one is slower on one node."""
    folder = tmp_path / "results"
    write_campaign(folder / "before", {"1n1g": 24.0, "2n1g": 40.0})
    write_campaign(folder / "after", {"1n1g": 22.0, "2n1g": 40.0}, kernel="6.1.5")
    return folder


@pytest.fixture
def run(tmp_path, results):
    """Return a function that runs a playbook on these campaigns."""

    def runner(playbook: str, *arguments: str, **variables: Any) -> Any:
        given = {"campaign_results_dir": str(results), "report_plots": False, **variables}
        return run_playbook(tmp_path, f"playbooks/{playbook}", *arguments, **given)

    return runner


def printed(runner: Any) -> str:
    assert runner.rc in (0, 2), failures(runner)
    return "\n".join(str(result.get("msg")) for result in events(runner, "ansible.builtin.debug"))


def comparison(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "results.json").read_text())["comparison"]


def outcome(runner: Any) -> dict[str, Any]:
    (stats,) = [event for event in runner.events if event["event"] == "playbook_on_stats"]
    return stats["event_data"]["artifact_data"]["scalebench_outcome"]


def gate(tmp_path: Path, *rules: dict[str, Any]) -> str:
    path = tmp_path / "gate.yml"
    path.write_text(json.dumps({"rules": list(rules)}))
    return str(path)


def test_a_campaign_against_an_earlier_one_by_its_name(run, results):
    first = run("report.yml", campaign="after", baseline="before")
    output = " ".join(printed(first).split())
    assert "against before of 2 cell(s): 1 slower (1n1g -8." in output
    assert "1 equivalent within 2 %; same day only; changed: kernel" in output
    compared = comparison(results / "after")
    assert [cell["finding"] for cell in compared["cells"]] == ["slower", "equivalent"]
    (changed,) = compared["changes"]["changed"]
    assert (changed["baseline"], changed["now"]) == ("6.1.0", "6.1.5")
    again = run("report.yml", campaign="after", baseline="before")
    assert sum(again.stats["changed"].values()) == 0
    assert all(len(line) <= 100 for line in printed(first).splitlines() if "eport" not in line)


def test_campaigns_of_several_days_are_one_baseline(run, results):
    for day, name in enumerate(("n1", "n2", "n3"), 1):
        path = write_campaign(results / name, {"1n1g": 24.0, "2n1g": 40.0}) / "plan.json"
        created = {"created": f"2026-11-0{day}T01:00:00Z"}
        path.write_text(json.dumps({**json.loads(path.read_text()), **created}))
        assert run("report.yml", campaign=name).rc == 0
    alone = " ".join(printed(run("report.yml", campaign="after", baseline="n1")).split())
    assert "equivalent within 2 %; same day only; changed" in alone
    for word in (results / "after/report.md", results / "after/report.html"):
        assert "same day only" in word.read_text()
    output = printed(run("report.yml", campaign="after", baseline="last:3"))
    assert "against 3 campaigns of 3 day(s) of 2 cell(s)" in " ".join(output.split())
    assert "same day only" not in output
    compared = comparison(results / "after")
    assert [one["campaign"] for one in compared["baselines"]] == ["n1", "n2", "n3"]
    assert [cell["scope"] for cell in compared["cells"]] == ["new day"] * 2
    assert compared["not_chosen"][0]["campaigns"] == ["before"]
    for word in (results / "after/report.md", results / "after/report.html"):
        assert "new day" in word.read_text()


def test_every_kind_of_baseline_gives_the_same(run, results, tmp_path):
    archive = tmp_path / "before.tar.gz"
    assert run("archive.yml", campaign="before", archive_path=str(archive)).rc == 0
    assert run("report.yml", campaign="before").rc == 0
    comparisons = []
    for baseline in (results / "before", archive, results / "before/results.json"):
        assert run("report.yml", campaign="after", baseline=str(baseline)).rc == 0
        comparisons.append(comparison(results / "after"))
        assert comparisons[-1]["baseline"].pop("given") == str(baseline)
    assert comparisons[0] == comparisons[1] == comparisons[2]


def test_a_tree_of_logs_against_another(run, results, tmp_path):
    trees = {name: str(results / name / "logs") for name in ("before", "after")}
    for path in results.glob("*/logs/**/*.run.json"):
        path.unlink()
    runner = run(
        "report.yml",
        log_dir=trees["after"],
        baseline=trees["before"],
        output_dir=str(tmp_path / "out"),
    )
    assert "1 slower (1n1g -8." in " ".join(printed(runner).split())
    assert comparison(tmp_path / "out")["changes"]["not_recorded"][0]["what"] == "nodes"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"baseline": "yours"},
            "baseline yours: no file or folder, and no campaign in|there are after, before",
        ),
        ({"baseline": "after"}, "baseline after: it is the campaign itself"),
        ({"baseline": "other"}, "baseline other: no cell is in both: here pytorch fp32 bz4"),
        ({"baseline": str(ROOT / "README.md")}, "README.md is damaged, or not an archive"),
        ({"baseline": "before", "equivalence_margin": 2}, "equivalence_margin=2.0: a share"),
        ({"gate": "strict"}, "gate strict: no file, and no gate in|there are default"),
        ({"gate": str(ROOT / "benchmarks/pytorch.yml")}, "a gate is a mapping with one key"),
        ({"gate": str(ROOT / "README.md")}, "README.md: "),
    ],
)
def test_what_cannot_be_used_is_refused(run, results, given, expected):
    write_campaign(results / "other", {"4n1g": 70.0}, repeats=1)
    runner = run("report.yml", campaign="after", **given)
    assert runner.rc == 2
    in_order = ".*".join(map(re.escape, expected.split("|")))
    assert re.search(in_order, failures(runner), re.DOTALL)
    assert not (results / "after/results.json").exists()


def test_a_gate_that_is_kept_and_one_that_is_broken(run, results, tmp_path):
    rules = [{"max_regression": 0.15}, {"max_cv": 0.05}, {"allowed_failures": 0}]
    given = {"campaign": "after", "baseline": "before"}
    kept = run("report.yml", **given, gate=gate(tmp_path, *rules))
    assert kept.rc == 0
    assert outcome(kept) == GOOD
    assert "all 3 rule(s) passed" in " ".join(printed(kept).split())
    strict = [{"max_regression": 0.02}, {"min_throughput": 50, "where": {"topology": "2n*"}}]
    broken = run("report.yml", **given, gate=gate(tmp_path, *strict))
    assert broken.rc == 2
    assert outcome(broken)["kind"] == "broken_rules"
    lines = [line.strip() for line in failures(broken).splitlines()]
    assert lines[0] == "2 rule(s) of the gate broken:"
    assert lines[1].startswith("max_regression: 0.02: pytorch fp32 bz4 1n1g: -8.")
    assert lines[2].startswith("min_throughput: 50 of topology 2n*: pytorch fp32 bz4 2n1g: thro")
    assert json.loads((results / "after/results.json").read_text())["gate"]["ok"] is False


def test_failed_repeats_break_a_gate_unless_it_allows_them(run, results, tmp_path):
    fail_repeat(results / "after", "logs/pytorch/bz4/2n1g/r50_b4_fp32_3.run.json")
    without = run("report.yml", campaign="after", gate=gate(tmp_path, {"max_cv": 0.5}))
    assert without.rc == 2
    assert outcome(without)["kind"] == "failed_repeats"
    assert "r50_b4_fp32_3.log: crashed: exit code 1" in failures(without)
    allowed = run("report.yml", campaign="after", gate=gate(tmp_path, {"allowed_failures": 1}))
    assert allowed.rc == 0
    assert outcome(allowed) == GOOD
    assert run("report.yml", campaign="after").rc == 0, "no gate was asked for"


@pytest.mark.parametrize("given", [{"gate": "strict"}, {"baseline": "yours"}])
def test_bench_refuses_before_it_looks_at_a_node(run, results, given):
    runner = run("bench.yml", campaign="new", **given)
    assert runner.rc == 2
    assert "strict: no file" in failures(runner) or "yours: no file" in failures(runner)
    assert events(runner, "node_fingerprint_facts") == []
    assert not (results / "new").exists()


def test_bench_compares_and_judges_what_it_measured(cluster, tmp_path):
    """One repeat of the stand-in on both sides: cells stay undecided, with the reason."""
    options = {**TIMED_STEPS, "topology": "1n1g"}
    first = cluster.bench(campaign="base", **options)
    assert first.rc == 0, failures(first)
    given = {**options, "campaign": "next", "baseline": "base"}
    checked = cluster.bench("--check", **given, gate="default")
    assert checked.rc == 0, failures(checked)
    assert "Baseline: base, 1 cell(s)\nGate: default\n  max_cv: 0.05" in printed(checked)
    chosen = printed(cluster.bench("--check", **{**given, "baseline": "last:4"}))
    # With campaigns of other tests, which are like it.
    assert re.search(r"(Baseline: |\n  )base, 1 cell\(s\)", chosen), chosen
    unlike = cluster.bench(**{**given, "precision": "amp"})
    assert unlike.rc == 2
    assert "no cell is in both: here timed_steps amp bz2 timed 1n1g" in failures(unlike)
    assert events(unlike, "training_run") == []
    strict = gate(tmp_path, {"min_throughput": 1e9}, {"max_cv": 1}, {"max_regression": 0.5})
    broken = cluster.bench(**{**given, "campaign": "judged"}, gate=strict)
    assert broken.rc == 2
    assert outcome(broken)["kind"] == "undecided_rules"
    lines = [line.strip() for line in failures(broken).splitlines()]
    assert lines[0] == "3 rule(s) of the gate undecided, which fails it:"
    assert "throughput" in lines[1] and "one repeat shows no spread" in lines[1]
    assert lines[2] == "max_cv: 1: undecided: timed_steps fp32 bz2 1n1g has no cv: one repeat only"
    assert "1n1g is undecided: one repeat only on a side" in lines[3]
    (cell,) = comparison(cluster.results / "judged")["cells"]
    assert cell["finding"] == "undecided"
