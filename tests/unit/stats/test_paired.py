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
    MOST_PAIRS,
    least_sign_flip_p,
    paired_ratio,
    sign_flip_p,
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
def test_the_test_of_signs_is_scipys_permutation_test(ours, reference):
    logs = numpy.log(ours) - numpy.log(reference)
    expected = stats.permutation_test(
        (logs,), numpy.sum, permutation_type="samples", n_resamples=numpy.inf
    )
    assert sign_flip_p(ours, reference) == pytest.approx(expected.pvalue)


def test_the_least_p_value_is_that_of_differences_of_one_sign():
    for count in range(2, 10):
        ours = [101.0 + one for one in range(count)]
        assert sign_flip_p(ours, [100.0] * count) == least_sign_flip_p(count)
    assert sign_flip_p([100.0] * 5, [100.0] * 5) == 1.0


def test_most_pairs_take_no_longer_than_a_blink():
    ours, reference = pairs(1, rounds=MOST_PAIRS)
    assert 0 < sign_flip_p(ours, reference) <= 1


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
        if rounds <= 10 and seed < 1000:
            exact_found += sign_flip_p(ours, reference) <= 0.05
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
    values = {
        round(sign_flip_p(*zip(*order, strict=True)), 12) for order in itertools.permutations(both)
    }
    assert len(values) == 1
