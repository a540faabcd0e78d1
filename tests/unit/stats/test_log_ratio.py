"""The ratio of two sets of repeats: against scipy, and by simulation of what it promises."""

import math
import random

import numpy
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats import log_ratio as module
from ansible_collections.scalebench.core.plugins.module_utils.stats.log_ratio import (
    above_p,
    below_p,
    difference_p,
    equivalence_p,
    holm,
    interval,
    log_ratio,
    rounding,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.rounding import round_speed
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

ALPHA = 0.05
PAIRS = 10_000
# What 10 000 fair trials exceed once in 10 000 times.
MOST_BY_CHANCE = stats.binom.isf(1e-4, PAIRS, ALPHA)
SAMPLES = [
    ([100.0, 101.2, 99.5, 100.3, 100.9], [95.1, 94.2, 95.9, 95.0, 94.6]),
    ([100.0, 101.2], [99.0, 103.0, 98.4]),
    ([2612.02, 2636.74, 2624.97], [2624.23, 2634.72, 2625.79, 2601.0, 2640.4]),
]


def simulated(pairs, ratio, seed, noise=0.01, repeats=5):
    """Yield pairs of repeats: ours are ``ratio`` times the baseline, both with normal noise."""
    chance = random.Random(seed)
    for _ in range(pairs):
        yield (
            [ratio * 100 * (1 + chance.gauss(0, noise)) for _ in range(repeats)],
            [100 * (1 + chance.gauss(0, noise)) for _ in range(repeats)],
        )


@pytest.fixture
def exact(monkeypatch):
    """Take the speeds as exact: scipy knows nothing of rounding."""
    monkeypatch.setattr(module, "rounding", lambda _mean: 0.0)


def welch(ours, baseline):
    """Return scipy's t of Welch's test, and its degrees of freedom, limited for unequal sizes."""
    test = stats.ttest_ind(numpy.log(ours), numpy.log(baseline), equal_var=False)
    return test.statistic, stats.t(min(test.df, 2 * min(len(ours), len(baseline)) - 2))


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(("ours", "baseline"), SAMPLES)
def test_difference_and_interval_are_welchs(ours, baseline):
    found = log_ratio(ours, baseline)
    statistic, t = welch(ours, baseline)
    assert difference_p(found) == pytest.approx(2 * t.sf(abs(statistic)), rel=1e-7)
    bounds = found.estimate + found.estimate / statistic * numpy.array(t.interval(0.95))
    assert interval(found, 0.95) == pytest.approx(numpy.exp(numpy.sort(bounds)))


@pytest.mark.usefixtures("exact")
def test_of_equal_sizes_it_is_scipys_own_test():
    ours, baseline = SAMPLES[0]
    expected = stats.ttest_ind(numpy.log(ours), numpy.log(baseline), equal_var=False)
    found = log_ratio(ours, baseline)
    assert found.degrees_of_freedom == pytest.approx(expected.df)
    assert difference_p(found) == pytest.approx(expected.pvalue, rel=1e-7)
    bounds = expected.confidence_interval(0.95)
    assert interval(found, 0.95) == pytest.approx((math.exp(bounds.low), math.exp(bounds.high)))


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(("ours", "baseline"), SAMPLES)
@pytest.mark.parametrize("margin", [0.005, 0.02, 0.2])
def test_equivalence_is_two_one_sided_tests(ours, baseline, margin):
    def at(bound):
        statistic, t = welch([one / bound for one in ours], baseline)
        return t.sf(statistic), t.cdf(statistic)

    found = log_ratio(ours, baseline)
    above, below = at(1 - margin)[0], at(1 + margin)[1]
    assert above_p(found, 1 - margin) == pytest.approx(above, rel=1e-6)
    assert below_p(found, 1 + margin) == pytest.approx(below, rel=1e-6)
    assert equivalence_p(found, margin) == pytest.approx(max(above, below), rel=1e-6)


def test_false_alarms_are_as_rare_as_stated():
    alarms = sum(difference_p(log_ratio(*pair)) <= ALPHA for pair in simulated(PAIRS, 1.0, 7))
    assert 0.03 * PAIRS < alarms <= MOST_BY_CHANCE


def test_a_regression_of_5_percent_is_found():
    found = sum(
        ratio.estimate < 0 and difference_p(ratio) <= ALPHA
        for ratio in (log_ratio(*pair) for pair in simulated(PAIRS, 0.95, 8))
    )
    assert found >= 0.95 * PAIRS


@pytest.mark.parametrize("at", [0.98, 1.02])
def test_false_equivalence_is_as_rare_as_stated(at):
    """A ratio that is exactly at the margin is not within it."""
    wrong = sum(equivalence_p(log_ratio(*pair), 0.02) <= ALPHA for pair in simulated(PAIRS, at, 9))
    assert wrong <= MOST_BY_CHANCE


def test_equivalence_is_found_where_noise_allows():
    pairs = simulated(1000, 1.0, 10, noise=0.005)
    assert sum(equivalence_p(log_ratio(*pair), 0.02) <= ALPHA for pair in pairs) > 950


def test_the_interval_holds_the_true_ratio_as_often_as_stated():
    bounds = [interval(log_ratio(*pair), 0.95) for pair in simulated(2000, 0.97, 11)]
    held = sum(low <= 0.97 <= high for low, high in bounds)
    assert stats.binom.ppf(1e-4, 2000, 0.95) <= held <= stats.binom.isf(1e-4, 2000, 0.97)


@pytest.mark.parametrize("repeats", [2, 5])
def test_repeats_that_all_print_the_same_differ_below_the_last_place(repeats):
    same = log_ratio([100.0] * repeats, [100.0] * repeats)
    shares = 2 / repeats + 2  # of the repeats, and of what they have in common
    assert same.standard_error == pytest.approx(0.0001 / math.sqrt(12) * math.sqrt(shares))
    assert difference_p(same) == 1
    assert equivalence_p(same, 0.02) < ALPHA
    assert difference_p(log_ratio([95.0] * repeats, [100.0] * repeats)) < ALPHA


@pytest.mark.parametrize("noise", [0.001, 0.003, 0.01])
@pytest.mark.parametrize("speed", [0.365, 3.0])
def test_equal_sides_that_print_few_digits_differ_no_more_often_than_stated(speed, noise):
    chance = random.Random(12)
    alarms = 0
    for _ in range(2000):
        true = speed + chance.uniform(-0.005, 0.005)
        ours, baseline = (
            [round_speed(true * (1 + chance.gauss(0, noise))) for _ in range(5)] for _ in range(2)
        )
        alarms += difference_p(log_ratio(ours, baseline)) <= ALPHA
    assert alarms <= stats.binom.isf(1e-4, 2000, ALPHA)


def test_one_repeat_is_refused():
    with pytest.raises(ValueError, match="fewer than two repeats"):
        log_ratio([100.0], [99.0, 98.0])


speeds = st.lists(st.floats(0.01, 1e6), min_size=2, max_size=8)


@given(speeds, speeds)
def test_the_other_way_round_is_the_inverse(ours, baseline):
    there, back = log_ratio(ours, baseline), log_ratio(baseline, ours)
    assert there.estimate == pytest.approx(-back.estimate, abs=1e-9)
    assert difference_p(there) == pytest.approx(difference_p(back), rel=1e-6, abs=1e-12)
    assert 0 <= equivalence_p(there, 0.02) <= 1
    assert there.degrees_of_freedom >= 1 - 1e-9


@pytest.mark.parametrize(
    ("given", "adjusted"),
    [
        ([], []),
        ([0.03], [0.03]),
        # As R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") has it.
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.9, 0.8], [1.0, 1.0]),
    ],
)
def test_adjusted(given, adjusted):
    assert holm(given) == pytest.approx(adjusted)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_never_smaller_and_in_the_same_order(p_values):
    adjusted = holm(p_values)
    assert all(one >= p for one, p in zip(adjusted, p_values, strict=True))
    pairs = sorted(zip(p_values, adjusted, strict=True))
    assert [one for _, one in pairs] == sorted(one for _, one in pairs)


def test_false_alarms_of_nine_cells_together():
    chance = random.Random(1)
    alarms = sum(min(holm([chance.random() for _ in range(9)])) <= 0.05 for _ in range(10_000))
    assert 0.03 * 10_000 < alarms <= stats.binom.isf(1e-4, 10_000, 0.05)


def test_rounding_of_small_throughputs_is_that_of_their_third_digit():
    """A share of 1 % at most, where the two places of others would be all of it."""
    assert log_ratio([0.00123, 0.00124], [0.001, 0.00101]).standard_error < 0.02
    assert math.sqrt(12 * rounding(math.log(0.05))) == pytest.approx(0.002)
    assert math.sqrt(12 * rounding(math.log(0.5))) == pytest.approx(0.02)
    assert math.sqrt(12 * rounding(math.log(50.0))) == pytest.approx(0.0002)
