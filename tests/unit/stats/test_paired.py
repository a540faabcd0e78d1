"""Paired repeats: against scipy, and by simulation of what is promised."""

import itertools
import math
import random

import numpy
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats import paired as module
from ansible_collections.scalebench.core.plugins.module_utils.stats.log_ratio import (
    difference_p,
    equivalence_p,
    interval,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.paired import (
    least_signed_rank_p,
    paired_ratio,
    signed_rank,
)
from scipy import stats

SAMPLES = [
    ([100.0, 101.2, 99.5, 100.3, 100.9], [95.1, 94.2, 95.9, 95.0, 94.6]),
    ([100.0, 101.2], [99.0, 103.0]),
    ([2612.02, 2636.74, 2624.97, 2601.0], [2624.23, 2634.72, 2625.79, 2640.4]),
]
DRAWS = 4_000
# What 4000 fair trials at 5 % exceed once in 10 000 times.
MOST_BY_CHANCE = stats.binom.isf(1e-4, DRAWS, 0.05)


def pairs(seed, ratio=1.0, noise=0.003, drift=0.02, rounds=10, digits=2):
    """Return rounds of two sides that drift together; ours are ``ratio`` times the others."""
    chance = random.Random(seed)
    both = []
    for _ in range(rounds):
        level = 100 * (1 + chance.gauss(0, drift))
        sides = [level * ratio, level]
        both.append([round(side * (1 + chance.gauss(0, noise)), digits) for side in sides])
    return zip(*both, strict=True)


@pytest.mark.parametrize(("ours", "reference"), SAMPLES)
def test_difference_interval_and_equivalence_are_scipys_paired_t(ours, reference, monkeypatch):
    monkeypatch.setattr(module, "rounding", lambda _mean: 0.0)
    found = paired_ratio(ours, reference)
    logs = numpy.log(ours) - numpy.log(reference)
    expected = stats.ttest_1samp(logs, 0)
    assert found.degrees_of_freedom == expected.df
    assert difference_p(found) == pytest.approx(expected.pvalue, rel=1e-7)
    bounds = expected.confidence_interval(0.95)
    assert interval(found, 0.95) == pytest.approx((math.exp(bounds.low), math.exp(bounds.high)))
    below = stats.ttest_1samp(logs, math.log(1.02), alternative="less").pvalue
    above = stats.ttest_1samp(logs, math.log(0.98), alternative="greater").pvalue
    assert equivalence_p(found, 0.02) == pytest.approx(max(below, above), rel=1e-7)


@pytest.mark.parametrize(("ours", "reference"), SAMPLES)
def test_the_test_of_ranks_is_scipys_exact_one(ours, reference):
    logs = numpy.log(ours) - numpy.log(reference)
    found, p_value = signed_rank(ours, reference)
    assert p_value == pytest.approx(stats.wilcoxon(logs, method="exact").pvalue)
    above = stats.wilcoxon(logs, alternative="greater", method="exact").statistic
    assert found / 2 == 2 * above - len(logs) * (len(logs) + 1) / 2


def test_equal_differences_have_their_mean_rank():
    """Against all 2^8 choices of signs."""
    ours = [101.0, 101.0, 99.0, 102.0, 102.0, 103.0, 101.0, 104.0]
    logs = numpy.log(ours) - math.log(100)
    ranks = stats.rankdata(numpy.abs(logs).round(12))
    sums = [numpy.dot(signs, ranks) for signs in itertools.product((1, -1), repeat=8)]
    total = numpy.dot(numpy.sign(logs), ranks)
    found, p_value = signed_rank(ours, [100.0] * 8)
    assert found == 2 * total
    assert p_value == numpy.mean(numpy.abs(sums) >= abs(total))


def test_the_least_p_value_is_that_of_differences_of_one_sign():
    for count in (*range(2, 10), 100):
        ours = [101.0 + one for one in range(count)]
        assert signed_rank(ours, [100.0] * count)[1] == least_signed_rank_p(count)
    assert signed_rank([100.0] * 5, [100.0] * 5) == (0, 1.0)


def test_a_difference_of_the_last_digit_is_none():
    assert signed_rank([0.37] * 10, [0.36] * 10) == (0, 1.0)
    assert signed_rank([0.38] * 10, [0.36] * 10)[1] == least_signed_rank_p(10)


@pytest.mark.parametrize("rounds", [100, 101, 1000])
def test_many_pairs_are_tested_as_well(rounds):
    # So fast that the last digit leaves out none.
    sides = pairs(1, ratio=0.9995, rounds=rounds, digits=6)
    ours, reference = ([1e4 * value for value in side] for side in sides)
    logs = numpy.log(ours) - numpy.log(reference)
    expected = stats.wilcoxon(logs, method="exact" if rounds <= 101 else "approx").pvalue
    found, p_value = signed_rank(ours, reference)
    assert p_value == pytest.approx(expected, rel=0.02)
    assert (found < 0) == (numpy.median(logs) < 0)


def test_one_round_tells_nothing_of_the_spread():
    with pytest.raises(ValueError, match="fewer than two rounds"):
        paired_ratio([1.0], [2.0])


def test_equal_sides_that_are_rounded_alike_are_not_different():
    ratio = paired_ratio([0.37] * 5, [0.36] * 5)
    assert difference_p(ratio) > 0.05


@pytest.mark.parametrize("rounds", [3, 5, 10, 30])
def test_equal_sides_differ_as_often_as_stated_whatever_the_days_do(rounds):
    t_found, exact_found = 0, 0
    for seed in range(DRAWS):
        ours, reference = pairs(seed, rounds=rounds)
        t_found += difference_p(paired_ratio(ours, reference)) <= 0.05
        if seed < 1000:
            exact_found += signed_rank(ours, reference)[1] <= 0.05
    assert t_found <= MOST_BY_CHANCE
    # A test that never finds anything would pass the line above.
    assert t_found > DRAWS * 0.03
    assert exact_found <= stats.binom.isf(1e-4, 1000, 0.05)


def test_sides_at_the_margin_are_called_equivalent_as_rarely_as_stated():
    found = sum(
        equivalence_p(paired_ratio(*pairs(seed, ratio=0.98)), 0.02) <= 0.05 for seed in range(DRAWS)
    )
    assert found <= MOST_BY_CHANCE


def test_three_percent_are_found_in_ten_rounds_where_unpaired_noise_hides_it():
    found = [difference_p(paired_ratio(*pairs(seed, ratio=0.97))) <= 0.05 for seed in range(200)]
    assert sum(found) >= 199


def test_order_of_the_pairs_does_not_matter():
    both = [(100.0, 99.0), (101.0, 102.5), (98.0, 97.2), (100.4, 100.1)]
    values = {signed_rank(*zip(*order, strict=True)) for order in itertools.permutations(both)}
    assert len(values) == 1
