"""Inside one run: where it is steady, and how well its mean is known."""

from __future__ import annotations

import math
import random
from statistics import fmean, stdev

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.facts.within_run import (
    steady_state,
    within_run,
)
from scipy import stats


def noise(count, seed=1, level=100.0, sd=1.0):
    choose = random.Random(seed)
    return [choose.gauss(level, sd) for _ in range(count)]


def remembering(count, share, seed):
    """Return an AR(1) series: each value keeps a share of the one before."""
    choose = random.Random(seed)
    value, found = 0.0, []
    for _ in range(count):
        value = share * value + choose.gauss(0, 1)
        found.append(100 + value)
    return found


@pytest.mark.parametrize("start", [0, 20, 60, 100])
def test_the_end_of_the_start_up_is_found(start):
    slow = [100 - 60 * math.exp(-4 * n / max(start, 1)) for n in range(start)]
    found = steady_state(slow + noise(300))
    assert found["reached"] is True
    assert abs(found["start"] - start) <= 15
    assert found["mean"] == pytest.approx(100, abs=0.5)
    assert found["count"] == start + 300 - found["start"]


def test_a_run_that_gets_faster_to_the_end_is_not_steady():
    found = steady_state([float(n) for n in range(100)])
    assert (found["reached"], found["start"], found["mean"]) == (False, 50, 74.5)
    assert found["drift"] > 1


@pytest.mark.parametrize(("share", "most"), [(0, 0.14), (0.9, 0.3)])
def test_few_steady_runs_are_said_not_to_be(share, most):
    unsteady = [not steady_state(remembering(120, share, seed))["reached"] for seed in range(300)]
    assert sum(unsteady) / len(unsteady) < most


@pytest.mark.parametrize(("groups", "reached"), [(5, True), (6, False)])
def test_fewer_than_six_even_groups_at_the_end_are_chance(groups, reached):
    uneven = [99.0 + 2 * (number // 5 % 2) for number in range(300 - 5 * groups)]
    assert steady_state(uneven + [100.0] * 5 * groups)["reached"] is reached


def test_a_constant_run_is_steady_from_the_first_value():
    assert steady_state([5.0] * 90) == {
        "reached": True,
        "start": 0,
        "count": 90,
        "mean": 5.0,
        "drift": 0.0,
    }


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0], [9.0] * 79])
def test_a_few_values_say_nothing_of_steadiness(values):
    found = steady_state(values)
    assert (found["reached"], found["start"], found["count"]) == (None, 0, len(values))


def test_independent_values_have_the_error_of_the_textbook():
    values = noise(2000, seed=3)
    found = within_run(values)
    assert found["autocorrelation_time"] < 1.3
    assert found["standard_error"] == pytest.approx(found["sd"] / math.sqrt(2000), rel=0.15)
    assert found["relative_error"] == pytest.approx(found["standard_error"] / found["mean"])


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("count", [2000, 20_000])
def test_memory_makes_the_error_larger(share, count):
    tau = (1 + share) / (1 - share)
    found = [
        within_run(remembering(count, share, seed))["autocorrelation_time"] for seed in range(5)
    ]
    assert sum(found) / len(found) == pytest.approx(tau, rel=0.35)


def test_the_error_is_that_of_repeated_runs():
    means, errors = [], []
    for seed in range(60):
        found = within_run(remembering(400, 0.7, seed))
        means.append(found["mean"])
        errors.append(found["standard_error"])
    centre = sum(means) / len(means)
    spread = math.sqrt(sum((mean - centre) ** 2 for mean in means) / (len(means) - 1))
    assert sum(errors) / len(errors) == pytest.approx(spread, rel=0.35)


def tau_of(values):
    """Return both estimates of the docstring of within_run, and of them the larger."""
    count, mean = len(values), sum(values) / len(values)
    gaps = [value - mean for value in values]
    at = [
        sum(a * b for a, b in zip(gaps, gaps[lag:])) / sum(gap * gap for gap in gaps)
        for lag in range(count)
    ]
    pairs = [at[lag] + at[lag + 1] for lag in range(0, count // 2, 2)]
    positive = next((n for n, pair in enumerate(pairs) if pair <= 0), len(pairs))
    share = min(at[1] + (1 + 4 * at[1]) / count, 1 - 1 / count)
    return min(count / 2, max(1.0, 2 * sum(pairs[:positive]) - 1, (1 + share) / (1 - share)))


@pytest.mark.parametrize("count", [8, 9, 50, 51])
@pytest.mark.parametrize("long", [True, False])
def test_every_measure_is_that_of_its_definition(count, long):
    values = noise(count, seed=5)
    values = sorted(values) if long else values  # sorted: values with a long memory
    found = within_run(values)
    tau, mean = tau_of(values), fmean(values)
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - tau) * tau / count)
    wanted = {
        "count": count, "mean": mean, "sd": stdev(values), "cv": stdev(values) / mean,
        "autocorrelation_time": tau, "effective_count": count / tau, "standard_error": error,
        "relative_error": error / mean,
        "half_width": error / mean * stats.t.ppf(0.975, count / tau - 1),
    }  # fmt: skip
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("share", [0, 0.8, 0.9, 0.95])
def test_the_interval_covers_the_mean_of_all_runs(share):
    held = 0
    for seed in range(300):
        # The first 400 make the run independent of the value that it starts with.
        found = within_run(remembering(500, share, seed)[400:])
        held += abs(found["mean"] - 100) <= found["half_width"] * found["mean"]
    assert 0.89 <= held / 300 <= 0.99


def test_fewer_than_eight_values_have_no_memory():
    found = within_run([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert (found["autocorrelation_time"], found["effective_count"]) == (1.0, 7.0)


def test_above_five_thousand_values_the_error_is_that_of_seventy_batches():
    values = remembering(7013, 0.6, 1)
    mean = fmean(values)
    means = [fmean(values[at : at + 100]) - mean for at in range(0, 7000, 100)]
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    wanted = 100 * sum(one * one for one in means) / 69 / variance
    assert within_run(values)["autocorrelation_time"] == pytest.approx(wanted)
    assert within_run(values[:5000])["autocorrelation_time"] == pytest.approx(tau_of(values[:5000]))


def test_undefined_measures_are_none():
    assert within_run([])["mean"] is None
    assert within_run([float("nan")])["count"] == 0
    one = within_run([7.0])
    assert (one["count"], one["mean"], one["sd"], one["standard_error"]) == (1, 7.0, None, None)
    same = within_run([7.0] * 20)
    assert (same["sd"], same["standard_error"], same["autocorrelation_time"]) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("values", ["123", {"a": 1.0}, 7, [1.0, "x"], [True]])
@pytest.mark.parametrize("rule", [steady_state, within_run])
def test_anything_but_a_list_of_numbers_is_refused(rule, values):
    with pytest.raises(ValueError, match=r"not a list of numbers|a number is needed"):
        rule(values)


def test_what_was_not_printed_is_left_out():
    assert within_run([1.0, None, 3.0])["mean"] == 2.0
