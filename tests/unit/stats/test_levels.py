"""Levels of variance: known figures, and what the test of a new day promises, by simulation."""

import math
import random
from statistics import NormalDist

import numpy
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats.levels import (
    by_day,
    new_day_ratio,
    variance_levels,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.log_ratio import (
    difference_p,
    equivalence_p,
    holm,
    interval,
    log_ratio,
)
from scipy import stats

ALPHA = 0.05
LOGNORMAL = 0.8


def normal(chance, count):
    return [chance.gauss(0, 1) for _ in range(count)]


def skewed(chance, count):
    """Return lognormal noise with its tail towards slow runs, of mean 0 and variance 1."""
    mean = math.exp(LOGNORMAL**2 / 2)
    sd = mean * math.sqrt(math.expm1(LOGNORMAL**2))
    return [(mean - math.exp(chance.gauss(0, LOGNORMAL))) / sd for _ in range(count)]


def dependent(chance, count, rho=0.5):
    """Return AR(1) noise."""
    values = [chance.gauss(0, 1)]
    while len(values) < count:
        values.append(rho * values[-1] + math.sqrt(1 - rho**2) * chance.gauss(0, 1))
    return values


def day(chance, noise, sd, cv=0.004, runs=5, shift=0.0):
    """Return the throughputs of one campaign on a day of its own."""
    level = shift + chance.gauss(0, sd * cv)
    return [1000 * math.exp(level + cv * value) for value in noise(chance, runs)]


def any_difference(chance, noise, sd, days, cells=1):
    """Return the p value of any difference in cells of which none has one."""
    p_values = [
        difference_p(
            new_day_ratio(day(chance, noise, sd), [day(chance, noise, sd) for _ in range(days)])
        )
        for _ in range(cells)
    ]
    return min(holm(p_values))


# By binomial chance, once in 10,000 times.
def most(draws):
    return stats.binom.isf(1e-4, draws, ALPHA)


@pytest.mark.parametrize("days", [4, 10])
@pytest.mark.parametrize("sd", [0.5, 1.0, 2.0], ids=["half", "equal", "twice"])
@pytest.mark.parametrize("noise", [normal, skewed, dependent])
def test_false_differences_are_as_rare_as_stated_where_days_differ(noise, sd, days):
    chance, draws = random.Random(f"{noise.__name__} {sd} {days}"), 600
    alarms = sum(any_difference(chance, noise, sd, days) <= ALPHA for _ in range(draws))
    assert alarms <= most(draws)


@pytest.mark.parametrize(("days", "sd"), [(4, 0.5), (4, 2.0), (10, 1.0)])
def test_in_ten_cells_as_well(days, sd):
    chance, draws = random.Random(days), 200
    alarms = sum(any_difference(chance, normal, sd, days, 10) <= ALPHA for _ in range(draws))
    assert alarms <= most(draws)


def test_one_day_is_not_enough_for_that():
    """What the comparison says of one day holds on that day only."""
    chance = random.Random(3)
    alarms = sum(any_difference(chance, normal, 1.0, 1) <= ALPHA for _ in range(300))
    assert alarms > 0.25 * 300


def test_false_equivalence_is_as_rare_as_stated_where_days_differ():
    chance, draws = random.Random(4), 600
    wrong = 0
    for _ in range(draws):
        groups = [day(chance, normal, 1.0) for _ in range(4)]
        ours = day(chance, normal, 1.0, shift=math.log(0.98))
        wrong += equivalence_p(new_day_ratio(ours, groups), 0.02) <= ALPHA
    assert wrong <= most(draws)


@pytest.mark.parametrize(("runs", "repeats"), [(5, 5), (3, 10), (10, 2), (5, 1)])
def test_the_interval_holds_an_equal_campaign_as_often_as_stated(runs, repeats):
    chance, draws, held = random.Random(runs), 500, 0
    for _ in range(draws):
        groups = [day(chance, normal, 1.0, runs=runs) for _ in range(6)]
        low, high = interval(
            new_day_ratio(day(chance, normal, 1.0, runs=repeats), groups), 1 - ALPHA
        )
        held += low <= 1 <= high
    assert held >= stats.binom.ppf(1e-4, draws, 1 - ALPHA)


@pytest.mark.parametrize("sd", [0.0, 0.3])
@pytest.mark.parametrize(
    ("days", "runs", "repeats"), [(10, 20, 2), (10, 20, 3), (4, 20, 2), (2, 20, 2), (2, 20, 5)]
)
def test_fewer_repeats_than_a_day_of_the_baseline_are_called_no_more_often(days, runs, repeats, sd):
    """Two runs alone show far too little scatter in one campaign of six: 15 % were called."""
    chance, draws = random.Random(f"{days} {runs} {repeats} {sd}"), 600
    alarms = 0
    for _ in range(draws):
        groups = [day(chance, normal, sd, runs=runs) for _ in range(days)]
        ours = day(chance, normal, sd, runs=repeats)
        alarms += difference_p(new_day_ratio(ours, groups)) <= ALPHA
    assert alarms <= most(draws)


def test_three_repeats_find_what_is_far_beyond_their_scatter():
    chance, found = random.Random(2), 0
    for _ in range(200):
        groups = [day(chance, normal, 0.3, runs=20) for _ in range(10)]
        ours = day(chance, normal, 0.3, runs=3, shift=math.log(0.98))
        found += difference_p(new_day_ratio(ours, groups)) <= ALPHA
    assert found >= 0.95 * 200


@pytest.mark.parametrize("days", [4, 10])
def test_a_campaign_that_is_slower_than_any_day_is_found(days):
    chance, found = random.Random(days), 0
    for _ in range(200):
        groups = [day(chance, normal, 0.5) for _ in range(days)]
        ours = day(chance, normal, 0.5, shift=math.log(0.98))
        found += difference_p(new_day_ratio(ours, groups)) <= ALPHA
    assert found >= 0.95 * 200


def test_variances_are_found():
    chance = random.Random(1)
    found = variance_levels([day(chance, normal, 0.5, runs=3) for _ in range(2000)])
    assert math.sqrt(found.run) == pytest.approx(0.004, rel=0.05)
    assert math.sqrt(found.day) == pytest.approx(0.002, rel=0.1)
    assert (found.days, found.runs, found.run_freedom) == (2000, 3, 2000 * 2)


def test_equal_days_are_the_prediction_of_the_textbook():
    """With as many runs a day as here the days' means alone decide, by t with days - 1."""
    groups = [[100.0, 101.0, 99.0], [103.0, 104.0, 103.5], [98.0, 98.5, 97.0]]
    ours = [100.0, 100.5, 99.5]
    means = [numpy.log(group).mean() for group in groups]
    found = new_day_ratio(ours, groups)
    assert found.estimate == pytest.approx(numpy.log(ours).mean() - numpy.mean(means))
    error = numpy.std(means, ddof=1) * math.sqrt(1 + 1 / 3)
    assert found.standard_error == pytest.approx(error, rel=1e-4)
    assert found.degrees_of_freedom == 2
    low, high = interval(found, 0.95)
    half = stats.t.ppf(0.975, 2) * error
    assert math.log(high / low) == pytest.approx(2 * half, rel=1e-4)


def test_one_slow_run_here_is_no_slower_campaign():
    """Our mean scatters more than the days do: that is added."""
    groups = [[100.0, 100.1, 99.9, 100.0, 100.1], [100.1, 100.2, 99.9, 100.0, 100.0]] * 3
    ours = [100.0, 100.1, 99.9, 100.0, 95.0]
    assert difference_p(new_day_ratio(ours, groups)) > 0.2


def test_days_that_lie_too_close_together_have_the_scatter_of_their_runs():
    groups = [[99.0, 100.0, 101.0]] * 4
    found = new_day_ratio([99.0, 100.0, 101.0], groups)
    run = numpy.var(numpy.log(groups[0]), ddof=1)
    assert found.standard_error == pytest.approx(math.sqrt(run / 3 * 1.25), rel=1e-4)
    assert variance_levels(groups).day == 0


def test_days_of_one_run_are_enough():
    groups = [[100.0], [101.0], [99.0], [100.5]]
    assert variance_levels(groups).run is None
    assert new_day_ratio([100.0], groups).degrees_of_freedom == 3
    assert difference_p(new_day_ratio([90.0, 90.5], groups)) < ALPHA


def test_one_day_is_the_test_within_it():
    sides = [100.0, 101.0, 99.5], [98.0, 99.0, 98.5]
    assert new_day_ratio(sides[0], [sides[1]]) == log_ratio(*sides)
    assert variance_levels([sides[1]]).day is None
    with pytest.raises(ValueError, match="fewer than two"):
        new_day_ratio([100.0], [[99.0, 98.0]])


def test_speeds_that_print_the_same_differ_below_the_last_digit():
    same = [[0.37] * 5] * 4
    found = new_day_ratio([0.36] * 5, same)
    assert found.standard_error > 0.01 / 0.37 / math.sqrt(12)
    assert difference_p(found) > ALPHA


@pytest.mark.parametrize("groups", [[], [[]], [[1.0], []], [[1.0, 0.0]], [[-1.0]]])
def test_what_is_no_throughput_is_refused(groups):
    with pytest.raises(ValueError, match="above 0"):
        variance_levels(groups)


def test_campaigns_of_a_day_are_one():
    groups = [[1.0], [2.0, 3.0], [4.0]]
    assert by_day(groups, ["2026-11-02", "2026-11-01", "2026-11-02"]) == [[2.0, 3.0], [1.0, 4.0]]
    assert by_day(groups, ["", "", ""]) == [[1.0, 2.0, 3.0, 4.0]], "days that are not known"


def test_the_skewed_noise_is_what_it_says():
    values = skewed(random.Random(1), 200_000)
    assert numpy.mean(values) == pytest.approx(0, abs=0.01)
    assert numpy.std(values) == pytest.approx(1, abs=0.03)
    assert NormalDist().cdf(-3) < numpy.mean(numpy.less(values, -3))
