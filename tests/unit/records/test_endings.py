"""The table of endings, what reads it, and the documentation of it."""

import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.comparison.across_frameworks import (
    across_frameworks,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    judge_gate,
)
from ansible_collections.scalebench.core.plugins.module_utils.facts.lognames import parse_log_path
from ansible_collections.scalebench.core.plugins.module_utils.facts.logtree import as_record
from ansible_collections.scalebench.core.plugins.module_utils.records import endings
from ansible_collections.scalebench.core.plugins.module_utils.records.endings import (
    NODE,
    PLAN,
    Ending,
    count_key,
    ending_names,
    ending_of_log,
    group_words,
    groups,
    never_ran,
    says_nothing,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.headline import headline
from ansible_collections.scalebench.core.plugins.module_utils.report.junit import junit_text
from ansible_collections.scalebench.core.plugins.module_utils.report.notes import failures_section
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.results.versions import read
from ansible_collections.scalebench.core.plugins.module_utils.running.policy import (
    check_retry_policy,
    default_retry_policy,
    should_retry,
)
from report_data import campaign, documented_rows, run

ROOT = Path(__file__).resolve().parents[3]


def test_names_are_unique():
    assert len(set(ending_names())) == len(endings.ENDINGS)


def test_what_never_ran_is_not_retried():
    assert ending_names(judged_by=PLAN) == ("unavailable", "skipped")
    assert not {*ending_names(retriable=True)} & {"ok", *ending_names(judged_by=PLAN)}
    assert [name for name in ending_names() if never_ran(name)] == ["unavailable", "skipped"]


def test_what_is_retried_by_default_is_retriable():
    assert {*ending_names(retried=True)} < {*ending_names(retriable=True)}


def test_causes_come_after_their_effects():
    assert ending_names(judged_by=NODE) == (
        *("crashed", "stalled", "timeout", "launch_failed", "interrupted"),
    )


def test_an_ending_of_a_log_means_one_ending():
    kinds = [kind for ending in endings.ENDINGS for kind in ending.log_kinds]
    assert len(set(kinds)) == len(kinds)
    assert ending_of_log("killed").name == "crashed"
    assert ending_of_log("complete") is None


def test_other_nodes_end_at_once_where_they_cannot_tell_more():
    assert ending_names(ends_peers=True) == ("stalled", "launch_failed")


def test_groups_are_those_of_results():
    assert groups() == ("failures", "unavailable", "skipped")
    assert [count_key(group) for group in groups()] == ["failed", "unavailable", "skipped"]
    assert [group_words(group) for group in groups()] == ["failed", "could not run here", "skipped"]


NEW = (
    Ending(
        "link_down",
        "an InfiniBand port went down",
        "look at the cable",
        judged_by=NODE,
        log_kinds=("port_error",),
        retriable=True,
        retried=True,
        junit="failure",
    ),
    Ending(
        "drained",
        "the scheduler had drained a node",
        "resume the node",
        judged_by=PLAN,
        group="drained",
        group_words="had no node",
    ),
)


@pytest.fixture
def with_new_endings(monkeypatch):
    """Add two endings to the table: one that fails, and one that never ran."""
    monkeypatch.setattr(endings, "ENDINGS", (*endings.ENDINGS, *NEW))


@pytest.mark.usefixtures("with_new_endings")
def test_a_new_ending_can_be_retried():
    policy = default_retry_policy()
    assert policy["endings"][-1] == "link_down"
    assert should_retry(["link_down"], policy) == (True, "link_down: attempt 2 of 2 follows")
    assert check_retry_policy({"endings": ["link_down"]})["endings"] == ["link_down"]
    with pytest.raises(ValueError, match=r"endings has 'drained'; the choices are .*, link_down$"):
        check_retry_policy({"endings": ["drained"]})


@pytest.mark.usefixtures("with_new_endings")
def test_a_new_ending_is_counted_and_fails_the_campaign():
    plan, runs = campaign({"1n1g": [10.0, 10.0], "2n1g": [20.0, 20.0]})
    runs[1] = run(runs[1]["cell"], 2, None, ending="link_down", reason="node1: port 1")
    runs[3] = run(runs[3]["cell"], 2, None, ending="drained", reason="node2: drained")
    results = build_results(plan, runs)
    assert (results["counts"]["failed"], results["counts"]["drained"]) == (1, 1)
    assert [one["ending"] for one in results["cells"][0]["failures"]] == ["link_down"]
    assert [one["ending"] for one in results["cells"][1]["drained"]] == ["drained"]
    assert {one["ending"] for one in results["failures"]} == {"link_down", "drained"}
    assert '<failure type="link_down"' in junit_text(results)
    assert '<error type="drained"' in junit_text(results)
    (meanings,) = failures_section(results, {})["notes"]
    assert ["".join(piece["text"] for piece in line) for line in meanings["lines"]] == [
        "link down: an InfiniBand port went down. What to do: look at the cable.",
        "drained: the scheduler had drained a node. What to do: resume the node.",
    ]
    older = {**results, "counts": {}}
    assert read(older)["counts"]["drained"] == 0


@pytest.mark.usefixtures("with_new_endings")
def test_a_new_ending_of_nothing_but_such_repeats_is_the_state_of_the_cell():
    plan, runs = campaign({"1n1g": [10.0]})
    runs = [run(runs[0]["cell"], 1, None, ending="drained", reason="node1: drained")]
    assert build_results(plan, runs)["cells"][0]["state"] == "drained"


@pytest.mark.usefixtures("with_new_endings")
def test_a_new_group_is_counted_by_a_gate_and_named_in_sentences():
    plans, runs = [], []
    for benchmark in ("pytorch", "other"):
        plan, speeds = campaign({"1n1g": [10.0], "2n1g": [20.0]}, benchmark=benchmark)
        changes = {"log": f"{benchmark}.log"}
        runs += [run(speeds[0]["cell"], 1, 10.0, **changes)]
        plans.append(plan)
    drained = plans[0]["cells"][1]
    runs.append(run(drained, 1, None, ending="drained", reason="node2: drained", log="drained.log"))
    plan = {**plans[0], "cells": [cell for plan in plans for cell in plan["cells"]]}
    results = build_results(plan, runs)
    rule = {"metric": "allowed_failures", "value": 0, "where": {"topology": "2n1g"}}
    gate = judge_gate(results, [rule], "gate.yml")
    assert gate["rules"][0]["detail"] == "1 repeat(s) failed, the first is drained.log"
    assert gate["failures"] == []
    head = headline(results)
    assert head["counts"].endswith("in 4 cells; 1 had no node; 1 not run yet.")
    assert "pytorch 2n1g: drained: node2: drained" in head["remarks"]
    (table,) = across_frameworks([results])
    assert table["rows"][1]["no_throughput"] == {
        "pytorch": "had no node: node2: drained",
        "other": "not run",
    }


@pytest.mark.usefixtures("with_new_endings")
def test_a_log_that_tells_a_new_ending_has_it_in_a_tree_of_logs():
    (log,) = parse_log_path("bz4/1n1g/r50_b4_fp32_1.log", "b")
    facts = {"identity": {}, "throughput": None, "reason": "no step line", "valid": True}
    told = {**facts, "ending": {"kind": "port_error", "detail": "mlx5_0: port 1 down"}}
    record = as_record(log, told)
    assert (record["ending"], record["reason"]) == (
        "link_down",
        "mlx5_0: port 1 down; no step line",
    )


def tried_again(ending):
    """Return when a repeat that ended so runs again, as the documentation says it."""
    if ending.name == "ok":
        return "if it was disturbed, `campaign_requeue` times"
    if ending.retried:
        return "yes"
    return "if `campaign_retry` names it" if ending.retriable else "by the next run"


def test_the_documentation_of_campaigns_has_the_table():
    assert documented_rows("campaigns.md", "How a repeat can end") == [
        [f"`{ending.name}`", ending.words, ending.judged_by, tried_again(ending)]
        for ending in endings.ENDINGS
    ]


def test_the_documentation_of_reports_says_what_to_do():
    assert documented_rows("reading-a-report.md", "Endings of a repeat") == [
        [f"`{ending.name}`", ending.advice] for ending in endings.ENDINGS if ending.advice
    ]


def test_the_documentation_of_junit_names_the_failures():
    (said,) = [
        held
        for element, held in documented_rows("results-files.md", "junit.xml")
        if "fail" in element
    ]
    assert {*re.findall(r"`(\w+)`", said)} == {*ending_names(junit="failure")}


def test_what_was_ended_from_outside_says_nothing_and_is_no_attempt(monkeypatch):
    assert [name for name in ending_names() if says_nothing(name)] == [
        *("interrupted", "unavailable", "skipped")
    ]
    gone = Ending("preempted", "the scheduler took the node", "", judged_by=NODE, cut_short=True)
    monkeypatch.setattr(endings, "ENDINGS", (*endings.ENDINGS, gone))
    policy = check_retry_policy({"attempts": 2})
    assert should_retry(["preempted"], policy) == (False, "preempted: a resume runs it again")
    assert should_retry(["preempted", "crashed"], policy) == (
        True,
        "crashed: attempt 2 of 2 follows",
    )


def test_the_role_leaves_the_default_policy_to_the_table():
    defaults = yaml.safe_load((ROOT / "roles/campaign/defaults/main.yml").read_text())
    assert defaults["campaign_retry"] == {}
    assert check_retry_policy({}) == default_retry_policy()
