"""What a planned campaign can find against its baseline, before it runs."""

import math
import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_plan import (
    detectable_lines,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.deficit import FOUND, deficit
from comparison_data import results
from report_data import cell
from rule_trials import slow_runs

DAYS = ("2026-11-01", "2026-11-03", "2026-11-05", "2026-11-08")


def baselines(noise, days=DAYS, day_sd=0.0):
    """Return a campaign a day; the second topology scatters twice as much."""
    chance = random.Random(12)
    found = []
    for day in days:
        level = 1000 * (1 + chance.gauss(0, day_sd))
        of = {
            topology: [round(level * (1 + chance.gauss(0, cv)), 2) for _ in range(5)]
            for topology, cv in (("1n1g", noise), ("2n1g", 2 * noise))
        }
        found.append(results(of, f"of {day}", created=f"{day}T06:00:00Z"))
    return found


PLANNED = [cell("1n1g", repeats=5), cell("2n1g", repeats=5)]


def test_the_worst_cell_is_first_and_has_what_a_smaller_deficit_needs():
    lines = detectable_lines(PLANNED, baselines(0.002), [])
    assert lines[0] == "Deficit that is found in 95 % of campaigns, and how often falsely:"
    assert lines[1].startswith("  pytorch fp32 bz4 2n1g: ")
    assert " with 5 repeats against 4 day(s); 4 known days differ by " in lines[1]
    assert lines[2].startswith("  pytorch fp32 bz4 1n1g: ")
    assert least(lines, "1n1g") < least(lines, "2n1g")
    assert all(" % needs " in line or "days differ too much" in line for line in lines[1:])


def least(lines, topology):
    (line,) = [one for one in lines if f"{topology}: " in one]
    return float(line.split(f"{topology}: ")[1].split(" %")[0])


def test_more_repeats_find_less():
    few = detectable_lines([cell("1n1g", repeats=3)], baselines(0.003), [])
    many = detectable_lines([cell("1n1g", repeats=20)], baselines(0.003), [])
    assert least(many, "1n1g") < least(few, "1n1g")
    one_day = detectable_lines([cell("1n1g", repeats=20)], baselines(0.003, DAYS[:1]), [])
    assert "against one day, and so for the same day only" in one_day[1]


@pytest.mark.parametrize(("campaigns", "day_sd"), [(1, 0.0), (4, 0.0), (4, 0.002), (2, 0.002)])
def test_the_deficit_that_is_printed_is_found_as_often_as_promised(campaigns, day_sd):
    """At 95 %, of 300 fewer than 273 happen less than once in 1000 times."""
    chance, found = random.Random(9), 0
    for _ in range(300):
        levels = [1000 * (1 + chance.gauss(0, day_sd)) for _ in range(campaigns + 1)]
        groups = [slow_runs(chance, 5, 0.003, level) for level in levels[1:]]
        before = [
            results({"1n1g": group}, created=f"{day}T06:00:00Z") for day, group in zip(DAYS, groups)
        ]
        promised = least(detectable_lines([cell("1n1g", repeats=5)], before, []), "1n1g") / 100
        ours = slow_runs(chance, 5, 0.003, levels[0] * (1 - promised))
        found += deficit(ours, groups, promised).verdict == FOUND
    assert 273 <= found <= 298


def test_the_deficit_follows_from_the_upper_limit_of_what_days_differ():
    """By hand: t(0.99, 2) = 6.9646, z(0.96) = 1.7507, and chi-square(0.2, 2) = -2 ln 0.8."""
    before = [
        results({"1n1g": [1000 * math.exp(share)] * 2}, created=f"{day}T06:00:00Z")
        for day, share in zip(DAYS, (-0.002, 0.0, 0.002))
    ]
    of_days = 0.002**2
    at_most = of_days * 2 / (-2 * math.log(0.8))
    far = 6.9646 * math.sqrt(of_days * 4 / 3) + 1.7507 * math.sqrt(at_most * 4 / 3)
    lines = detectable_lines([cell("1n1g", repeats=5)], before, [])
    assert least(lines, "1n1g") == pytest.approx(-100 * math.expm1(-far), abs=0.1)


def test_the_rule_says_alpha_and_which_deficit_is_wanted():
    rule = {"metric": "deficit", "value": 0.001, "where": {}, "alpha": 0.02}
    lines = detectable_lines(PLANNED, baselines(0.002, DAYS[:1]), [rule])
    assert "falsely in 1 %" in lines[1], "2 % for the two cells together"
    assert all("0.1 % needs" in line for line in lines[1:])
    far = detectable_lines(PLANNED, baselines(0.002, day_sd=0.004), [rule])
    assert "days differ too much for 0.1 %" in far[1]


def test_a_stated_spread_of_days_is_used():
    rule = {"metric": "deficit", "value": 0.01, "where": {}, "day_sd": 0.005}
    lines = detectable_lines(PLANNED, baselines(0.001, DAYS[:1]), [rule])
    assert "1 day(s) that differ by 0.5 %, as stated" in lines[1]
    assert "days differ too much for 1 %" in lines[1]


def test_cells_of_which_nothing_is_known_are_counted():
    planned = [*PLANNED, cell("4n1g", repeats=5), cell("8n1g", repeats=1)]
    lines = detectable_lines(planned, baselines(0.002), [])
    assert lines[-1].startswith("  not known in 2 cell(s): ")
    assert detectable_lines([cell("4n1g")], baselines(0.002), []) == []


def test_a_day_of_one_repeat_beside_others_is_a_day():
    days = baselines(0.002)
    single = results({"1n1g": [1000.0]}, created="2026-11-09T06:00:00Z")
    (line,) = detectable_lines([cell("1n1g", repeats=5)], [*days, single], [])[1:]
    assert " against 5 day(s); " in line


def without_step_times(campaign):
    for one in campaign["cells"]:
        for repeat in one["repeats"]:
            repeat.pop("elapsed_throughput", None)
    return campaign


def with_step_times(campaign, factor):
    """Return a campaign whose steps took longer or shorter than its rule says."""
    for one in campaign["cells"]:
        for repeat in one["repeats"]:
            repeat["elapsed_throughput"] = repeat["throughput"] * factor
    return campaign


def test_history_of_another_kind_of_throughput_is_no_day_as_in_the_gate():
    nights = [f"2026-10-{number:02}" for number in range(1, 9)]
    baseline = [with_step_times(one, 0.5) for one in baselines(0.002, DAYS[:1])]
    known = [with_step_times(one, 0.5) for one in baselines(0.002, nights)]
    lines = detectable_lines([cell("1n1g", repeats=5)], baseline, [], known)
    assert "; 9 known days differ by " in lines[1]
    old = [without_step_times(one) for one in known]
    lines = detectable_lines([cell("1n1g", repeats=5)], baseline, [], old)
    assert "against one day, and so for the same day only" in lines[1]


def test_a_cell_that_was_measured_otherwise_is_no_baseline_as_in_the_gate():
    other = baselines(0.002)
    for one in other[1:]:
        for measured in one["cells"]:
            measured["iterations"] = 7
    lines = detectable_lines([cell("1n1g", repeats=5, iterations=50)], other[:2], [])
    assert all("2 day(s)" not in line for line in lines)
