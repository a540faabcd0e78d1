"""Gate rules on the change against a baseline: deficit, non-inferiority, regression."""

import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.comparison.baseline import (
    compare_campaigns,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    judge_gate,
)
from comparison_data import results

DAYS = ("2026-11-01", "2026-11-03", "2026-11-05", "2026-11-08")


def runs(chance, centre, noise=0.001, repeats=5):
    return [round(centre * (1 + chance.gauss(0, noise)), 2) for _ in range(repeats)]


def against(ours, groups, days=DAYS, history=None):
    """Return results whose comparison holds the throughputs of both sides, by topology."""
    found = results(ours)
    cells = [
        {
            **{key: cell[key] for key in ("benchmark", "precision", "variant", "model")},
            "topology": cell["topology"],
            "speeds": ours[cell["topology"]],
            "baseline_groups": groups[cell["topology"]],
            "baseline_days": list(days[: len(groups[cell["topology"]])]),
            "earlier": [
                {"campaign": "x", "day": day, "speeds": values}
                for day, values in zip(days, (history or {}).get(cell["topology"], ()))
            ],
        }
        for cell in found["cells"]
        if cell["topology"] in groups
    ]
    apart = [
        {**cell, "reason": "not in the baseline"}
        for cell in found["cells"]
        if cell["topology"] not in groups
    ]
    return {**found, "comparison": {"cells": cells, "not_compared": apart}}


def judged(found, value=0.01, **options):
    rule = {"metric": "deficit", "value": value, "where": {}, **options}
    return judge_gate(found, [rule], "x")["rules"][0]


def steady(centre=1000.0, campaigns=4, seed=1, noise=0.001):
    chance = random.Random(seed)
    return [runs(chance, centre, noise) for _ in range(campaigns)]


def test_one_percent_slower_is_broken_and_equal_is_passed():
    chance = random.Random(2)
    slower = judged(against({"1n1g": runs(chance, 990.0)}, {"1n1g": steady()}))
    assert (slower["verdict"], slower["ok"]) == ("broken", False)
    assert slower["detail"].startswith("pytorch fp32 bz4 1n1g: -0.9")
    equal = judged(against({"1n1g": runs(chance, 1000.0)}, {"1n1g": steady()}))
    assert (equal["verdict"], equal["ok"]) == ("passed", True)
    assert equal["detail"].startswith("1 cell(s), worst pytorch fp32 bz4 1n1g:")


def test_cut_repeats_are_named_by_their_number():
    ours = runs(random.Random(3), 1000.0)
    ours[3] *= 0.97
    baseline = steady()
    baseline[2][0] *= 0.97
    found = judged(against({"1n1g": ours}, {"1n1g": baseline}))
    assert found["verdict"] == "passed"
    cut = "cut as outliers in pytorch fp32 bz4 1n1g: repeat 4 here and 1 of other days"
    assert found["detail"].endswith(f"; {cut}")


@pytest.mark.parametrize(
    ("other", "verdict"), [(995.0, "passed"), (900.0, "broken"), (994.0, "undecided")]
)
def test_cut_repeats_are_named_also_where_another_cell_decides(other, verdict):
    chance = random.Random(3)
    ours = runs(chance, 1000.0)
    ours[3] *= 0.6
    steps = [-0.004, 0.004, 0.0, 0.003, -0.003] if verdict == "undecided" else [0.0] * 5
    second = [other * (1 + step) for step in steps]
    baseline = [[1000.0 * (1 + step) for step in steps]] * 4
    if verdict == "undecided":
        baseline = [[one * scale for one in baseline[0]] for scale in (0.99, 1.0, 1.01, 1.02)]
    found = judged(against({"1n1g": ours, "2n1g": second}, {"1n1g": steady(), "2n1g": baseline}))
    assert found["verdict"] == verdict
    assert found["detail"].endswith("; cut as outliers in pytorch fp32 bz4 1n1g: repeat 4 here")


@pytest.mark.parametrize(
    "ours", [[1000.0, 1000.5, 600.0, 999.5, 600.5], [1000.0, 600.0, 1000.4], [1000, 999, 600, 1001]]
)
def test_repeats_of_two_kinds_fail_unless_the_rule_says_pass(ours):
    found = against({"1n1g": ours}, {"1n1g": steady()})
    mixed = judged(found)
    assert (mixed["verdict"], mixed["ok"]) == ("undecided", False)
    assert "more than one of 5: no single slow runs" in mixed["detail"]
    assert "; not judged, outliers in pytorch fp32 bz4 1n1g: repeat " in mixed["detail"]
    assert judged(found, undecided="pass")["ok"] is True


def test_a_baseline_of_one_day_holds_for_that_day_only():
    ours, baseline = {"1n1g": runs(random.Random(4), 990.0)}, {"1n1g": steady()}
    one_day = judged(against(ours, baseline, ["2026-11-01"] * 4))
    assert "same day only" in one_day["detail"]
    assert "same day only" not in judged(against(ours, baseline))["detail"]


def test_few_days_are_undecided_until_history_shows_how_days_differ():
    """Two days scatter by chance as little as their runs: nothing is shown of a third."""
    days = [f"2026-11-{day:02}" for day in range(1, 31)]
    ours, every = {"1n1g": runs(random.Random(4), 990.0)}, {"1n1g": steady(campaigns=12)}
    two = {"1n1g": every["1n1g"][:2]}
    few = judged(against(ours, two, days))
    assert (few["verdict"], few["ok"]) == ("undecided", True)
    assert " and 2 days by " in few["detail"]
    assert judged(against(ours, two, days), day_sd=0.0005)["verdict"] == "broken"
    assert judged(against(ours, every, days))["verdict"] == "broken"
    known = judged(against(ours, two, days, history=every))
    assert known["verdict"] == "broken"
    assert "same day only" not in known["detail"]
    far = {"1n1g": [[one * (1 + 0.01 * (k % 3)) for one in g] for k, g in enumerate(every["1n1g"])]}
    assert judged(against(ours, two, days, history=far))["verdict"] == "undecided"


def test_noise_is_undecided_and_passes_unless_the_rule_says_fail():
    groups = {"1n1g": steady(noise=0.01, seed=5)}
    found = against({"1n1g": [one * 0.995 for one in runs(random.Random(6), 1000.0, 0.01)]}, groups)
    open_verdict = judged(found)
    assert (open_verdict["verdict"], open_verdict["ok"]) == ("undecided", True)
    assert "1 % needs" in open_verdict["detail"]
    assert judged(found, undecided="fail")["ok"] is False


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        ({"2n1g": [1000.0] * 5}, "2n1g is not compared: not in the baseline"),
        ({"1n1g": [1000.0]}, "1n1g: one repeat: a slow run cannot be told from a slow cluster"),
    ],
)
def test_without_data_it_is_undecided_and_fails(ours, said):
    found = judged(against(ours, {"1n1g": steady()}))
    assert (found["verdict"], found["ok"]) == ("undecided", False)
    assert said in found["detail"]


def test_a_stated_spread_of_days_replaces_what_one_day_cannot_show():
    found = against({"1n1g": runs(random.Random(7), 994.0)}, {"1n1g": steady(campaigns=1)})
    assert judged(found)["verdict"] == "broken"
    stated = judged(found, day_sd=0.004)
    assert stated["verdict"] == "undecided"
    assert stated["rule"] == "deficit: 0.01, day_sd 0.004"
    assert "days differ too much for 1 %" in stated["detail"]


def test_alpha_holds_for_all_cells_together():
    """Six cells without a deficit, noise close to the limit: 1 % of campaigns, here of 200."""
    chance, topologies = random.Random(8), [f"{nodes}n1g" for nodes in range(1, 7)]
    broken = 0
    for _ in range(200):
        ours = {topology: runs(chance, 1000.0, 0.004) for topology in topologies}
        groups = {topology: [runs(chance, 1000.0, 0.004) for _ in DAYS] for topology in topologies}
        broken += judged(against(ours, groups))["verdict"] == "broken"
    # Binomial: more than 8 of 200 at 1 % happen less than once in 1000 times.
    assert broken <= 8


def compared(ratio, error, degrees=8):
    found = results({"1n1g": [100.0 * ratio] * 5})
    (cell,) = found["cells"]
    change = {
        **{key: cell[key] for key in ("benchmark", "precision", "variant", "model", "topology")},
        **{"ratio": ratio, "standard_error": error, "degrees_of_freedom": degrees},
        **{"low": ratio * (1 - 2.3 * error), "high": ratio * (1 + 2.3 * error)},
    }
    return {**found, "comparison": {"cells": [change], "not_compared": []}}


@pytest.mark.parametrize(
    ("ratio", "error", "verdict"),
    [(1.0, 0.004, "passed"), (0.99, 0.01, "undecided"), (0.95, 0.01, "broken")],
)
def test_non_inferiority_must_be_shown(ratio, error, verdict):
    rules = [
        {"metric": metric, "value": 0.02, "where": {}}
        for metric in ("non_inferior", "max_regression")
    ]
    shown, lenient = judge_gate(compared(ratio, error), rules, "x")["rules"]
    assert shown["verdict"] == lenient["verdict"] == verdict
    assert shown["ok"] is (verdict == "passed")
    assert lenient["ok"] is (verdict != "broken")


def test_a_real_comparison_has_what_the_rule_needs():
    chance = random.Random(10)
    ours = results({"1n1g": runs(chance, 990.0)})
    baselines = [
        results({"1n1g": group}, f"before{day}", created=f"{day}T06:00:00Z")
        for day, group in zip(DAYS, steady())
    ]
    ours["comparison"] = compare_campaigns(ours, baselines, 0.02, "before*")
    found = judged(ours)
    assert found["verdict"] == "broken"
    assert "same day only" not in found["detail"]


@pytest.mark.parametrize(("count", "told"), [(1, True), (4, False)])
def test_a_regression_against_one_day_holds_on_that_day(count, told):
    chance = random.Random(11)
    ours = results({"1n1g": runs(chance, 900.0)})
    baselines = [
        results({"1n1g": group}, f"before{day}", created=f"{day}T06:00:00Z")
        for day, group in list(zip(DAYS, steady()))[:count]
    ]
    ours["comparison"] = compare_campaigns(ours, baselines, 0.02, "before*")
    rule = {"metric": "max_regression", "value": 0.02, "where": {}}
    (found,) = judge_gate(ours, [rule], "x")["rules"]
    assert found["verdict"] == "broken"
    assert ("same day only" in found["detail"]) is told
