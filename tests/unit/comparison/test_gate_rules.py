"""Gates: each rule kept, broken, without its figure, without a cell."""

import random
from collections import Counter

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.comparison import gate_changes
from ansible_collections.scalebench.core.plugins.module_utils.comparison.baseline import (
    compare_campaigns,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    judge_gate,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from comparison_data import results, speeds
from report_data import campaign, run


def rule(metric, value, **where):
    return {"metric": metric, "value": value, "where": where}


def judged(found, *rules):
    verdict = judge_gate(found, rules, "gates/x.yml")
    assert verdict["ok"] == all(one["ok"] for one in verdict["rules"])
    return [(one["ok"], one["detail"]) for one in verdict["rules"]]


# Speed-ups 1, 1.8 and 3; cv 0.16, 0.5 and 0 %.
FOUND = results(
    {
        "1n1g": [100.0, 100.2, 99.8, 100.1, 99.9],
        "2n1g": [180.0, 181.0, 179.0, 181.0, 179.0],
        "4n1g": [300.0] * 5,
    }
)


@pytest.mark.parametrize(
    ("metric", "value", "where", "verdict", "detail"),
    [
        ("min_efficiency", 0.74, {}, "passed", "3 cell(s), worst pytorch fp32 bz4 4n1g: efficie"),
        ("min_efficiency", 0.75, {}, "undecided", "4n1g: efficiency 0.75 [0.7482, 0.7518]: the re"),
        ("min_efficiency", 0.76, {}, "broken", "pytorch fp32 bz4 4n1g: efficiency 0.75 [0.7482"),
        ("min_efficiency", 0.76, {"topology": "[12]n*"}, "passed", "2 cell(s), worst"),
        ("min_throughput", 178, {"topology": "2n1g"}, "passed", "1 cell(s), worst"),
        ("min_throughput", 180.01, {"topology": "2n1g"}, "undecided", "throughput 180 [178.5, 181"),
        ("min_throughput", 182, {"topology": "2n1g"}, "broken", "2n1g: throughput 180 [178.5, 18"),
        ("min_speedup", 1.9, {"topology": "2n*"}, "broken", "2n1g: speed-up 1.8 [1.78"),
        ("min_speedup", 1, {"topology": "1n*"}, "passed", "1n1g: speed-up 1"),
        ("min_speedup", 1.01, {"topology": "1n*"}, "broken", "1n1g: speed-up 1"),
        ("max_cv", 0.02, {}, "passed", "worst pytorch fp32 bz4 2n1g: cv 0.005556 [0.003329, 0.01"),
        ("max_cv", 0.005, {}, "undecided", "2n1g: cv 0.005556 [0.003329, 0.01596]: the repeats d"),
        ("max_cv", 0.003, {}, "broken", "2n1g: cv 0.005556"),
        ("max_cv", 0.005, {"precision": "amp"}, "undecided", "no cell is selected"),
        ("allowed_failures", 0, {"precision": "amp"}, "undecided", "no cell is selected"),
        ("allowed_failures", 0, {}, "passed", "0 repeat(s) failed"),
    ],
)
def test_figures_and_selectors(metric, value, where, verdict, detail):
    (found,) = judge_gate(FOUND, [rule(metric, value, **where)], "x")["rules"]
    assert found["verdict"] == verdict
    assert detail in found["detail"]
    no_data = detail == "no cell is selected"
    assert found["ok"] is (verdict == "passed" or (verdict == "undecided" and not no_data))


def test_an_impossible_cell_passes_no_limit_of_speed():
    found = results({"1n1g": [10.0, 10.1, 9.9], "2n1g": [40.0, 40.1, 39.9]})
    rules = [rule(name, 2, topology="2n1g") for name in ("min_throughput", "min_speedup", "max_cv")]
    verdicts = judge_gate(found, rules, "x")["rules"]
    assert [one["verdict"] for one in verdicts] == ["undecided", "undecided", "passed"]
    assert "2n1g is invalid: speed-up 4.0 on 2 device(s)" in verdicts[0]["detail"]
    assert not verdicts[0]["ok"]


def test_a_rule_says_what_it_does_while_undecided():
    noisy, single = rule("min_throughput", 180, topology="2n1g"), results({"2n1g": [10.0]})
    assert judged(FOUND, {**noisy, "undecided": "fail"})[0][0] is False
    assert judged(FOUND, {**noisy, "undecided": "pass"})[0][0] is True
    assert judged(single, rule("min_throughput", 5))[0] == (
        False,
        "pytorch fp32 bz4 2n1g: throughput 10: one repeat shows no spread",
    )
    assert judged(single, {**rule("min_throughput", 5), "undecided": "pass"})[0][0] is True


def test_alpha_holds_for_all_cells_of_a_rule_together():
    alone, both = (rule("min_throughput", 181.8, topology=glob) for glob in ("2n*", "[24]n*"))
    of_one, of_two = judge_gate(FOUND, [alone, both], "x")["rules"]
    assert (of_one["verdict"], of_two["verdict"]) == ("broken", "undecided")


def test_alpha_is_that_of_the_rule():
    limit = rule("min_throughput", 182, topology="2n1g")
    strict = {**limit, "alpha": 0.001}
    (usual, sure) = judge_gate(FOUND, [limit, strict], "x")["rules"]
    assert (usual["verdict"], sure["verdict"]) == ("broken", "undecided")
    assert sure["rule"] == "min_throughput: 182, alpha 0.001"


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("min_efficiency", "2n1g has no efficiency: no baseline: no speed of 1n1g"),
        ("min_speedup", "2n1g has no speed-up: no baseline: no speed of 1n1g"),
        ("max_cv", "2n1g has no cv: one repeat only"),
    ],
)
def test_a_missing_figure_breaks_its_rule(metric, said):
    ((ok, detail),) = judged(results({"2n1g": [10.0]}), rule(metric, 0))
    assert not ok
    assert said in detail


def test_a_cell_without_speed_breaks_every_rule_of_a_figure():
    plan, runs = campaign({"1n1g": [10.0]})
    found = build_results(plan, [run(runs[0]["cell"], 1, None, ending="crashed")])
    for metric in ("min_efficiency", "min_throughput", "min_speedup", "max_cv"):
        ((ok, detail),) = judged(found, rule(metric, 0))
        assert not ok
        assert "1n1g has no" in detail


def failing():
    """Return results of which one repeat of 1n1g and two of 2n1g failed."""
    plan, runs = campaign({"1n1g": [10.0] * 3, "2n1g": [20.0] * 3})
    for index in (0, 3, 4):
        runs[index] = run(runs[index]["cell"], runs[index]["repeat"], None, ending="crashed")
    return build_results(plan, runs)


def test_allowed_failures_count_those_of_their_cells():
    found = failing()
    assert judged(found, rule("allowed_failures", 3)) == [(True, "3 repeat(s) failed")]
    ((ok, detail),) = judged(found, rule("allowed_failures", 2))
    assert (ok, detail) == (False, "3 repeat(s) failed, the first is logs/1n1g/1.log")
    of_two = rule("allowed_failures", 2, topology="2n1g")
    assert judged(found, of_two) == [(True, "2 repeat(s) failed")]


def test_failures_that_no_rule_counts_are_left():
    found = failing()
    assert judge_gate(found, [rule("allowed_failures", 0)], "x")["failures"] == []
    left = judge_gate(found, [rule("allowed_failures", 2, topology="2n1g")], "x")["failures"]
    assert [one["log"] for one in left] == ["logs/1n1g/1.log"]
    assert len(judge_gate(found, [rule("min_speedup", 0)], "x")["failures"]) == 3


BASE = {"1n1g": speeds(100, 1), "2n1g": speeds(190, 2)}


def against(ours, baseline=BASE):
    found = results(ours)
    found["comparison"] = compare_campaigns(found, [results(baseline, "before")], 0.02, "x")
    return found


def test_a_regression_beyond_the_limit_is_broken_with_its_figures():
    found = against({"1n1g": speeds(94, 4), "2n1g": speeds(190, 5)})
    ((ok, detail),) = judged(found, rule("max_regression", 0.03))
    assert not ok
    assert detail.startswith("pytorch fp32 bz4 1n1g: -6.")
    assert " % [-" in detail
    ((ok, detail),) = judged(found, rule("max_regression", 0.1))
    assert ok
    assert detail.startswith("2 cell(s), worst pytorch fp32 bz4 1n1g: -6.")
    assert judged(found, rule("max_regression", 0.03, topology="2n*"))[0][0]


def test_a_cell_without_comparison_breaks_the_rule():
    new = against({**BASE, "4n1g": speeds(370, 3)})
    assert judged(new, rule("max_regression", 0.03)) == [
        (False, "pytorch fp32 bz4 4n1g is not compared: not in the baseline")
    ]
    single = against({"1n1g": [100.0]})
    ((ok, detail),) = judged(single, rule("max_regression", 0.03))
    assert not ok
    assert "1n1g is undecided: one repeat only" in detail


def simulated(topologies, ratio, chance):
    """Return results of cells ``ratio`` times as fast as their baseline, 1 % noise, 5 repeats."""
    for side, centre in ((OURS, ratio * 100), (THEIRS, 100)):
        for cell in side["cells"]:
            for repeat in cell["repeats"]:
                repeat["throughput"] = centre * (1 + chance.gauss(0, 0.01))
    sides = ({**side, "cells": side["cells"][:topologies]} for side in (OURS, THEIRS))
    ours, theirs = sides
    return {**ours, "comparison": compare_campaigns(ours, [theirs], 0.02, "x")}


NINE = {f"{nodes}n1g": [1.0] * 5 for nodes in range(1, 10)}
OURS, THEIRS = results(NINE), results(NINE, "before")


def test_one_cell_is_broken_exactly_where_its_interval_ends_below():
    """The rule and the interval beside it never contradict each other."""
    chance = random.Random(3)
    seen = set()
    for _ in range(200):
        found = simulated(1, 0.975, chance)
        ((ok, _),) = judged(found, rule("max_regression", 0.01))
        assert ok is (found["comparison"]["cells"][0]["high"] >= 0.99)
        seen.add(ok)
    assert seen == {True, False}


def test_noise_alone_breaks_a_gate_as_rarely_as_stated():
    """Nine cells that are exactly at the limit: 2.5 % of campaigns, here 100 of them."""
    chance = random.Random(4)
    at_limit = [simulated(9, 0.99, chance) for _ in range(100)]
    broken = sum(not judged(found, rule("max_regression", 0.01))[0][0] for found in at_limit)
    # Binomial: more than 9 of 100 at 2.5 % happen less than once in 2000 times.
    assert broken <= 9


def of_one_cell(chance, repeats, cv):
    speeds = [round(100 * (1 + chance.gauss(0, cv)), 2) for _ in range(repeats)]
    return results({"1n1g": speeds})


@pytest.mark.parametrize(
    ("metric", "limit", "repeats", "cv"),
    [
        ("min_throughput", 100.0, 3, 0.01),
        ("min_throughput", 100.0, 5, 0.01),
        ("max_cv", 0.04, 3, 0.04),
        ("max_cv", 0.04, 5, 0.04),
    ],
)
def test_what_is_at_the_limit_is_decided_as_rarely_as_stated(metric, limit, repeats, cv):
    """2.5 % each way, here of 400 campaigns: more than 21 happen less than once in 1000 times."""
    chance = random.Random(9)
    verdicts = Counter(
        judge_gate(of_one_cell(chance, repeats, cv), [rule(metric, limit)], "x")["rules"][0][
            "verdict"
        ]
        for _ in range(400)
    )
    assert verdicts["broken"] <= 21
    assert verdicts["passed"] <= 21
    assert verdicts["broken"] + verdicts["passed"] >= 2, "it decides at all"


def test_a_change_is_in_percent_with_its_interval():
    change = {"ratio": 0.95, "low": 0.9304, "high": 1.0212}
    assert gate_changes._change(change) == "-5.0 % [-7.0, +2.1]"
