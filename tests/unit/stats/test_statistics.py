"""Statistics of repeats, against numpy and scipy."""

import itertools
import random

import numpy as np
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats import statistics as ours
from scipy import stats

REFERENCE_000 = [9403.78, 9574.57, 9551.9, 9477.39, 9342.6, 9631.24]


def samples():
    draw = random.Random(20200808)
    for n in (1, 2, 3, 4, 5, 6, 7, 10, 25):
        for scale in (1.0, 350.0, 25_000.0):
            yield [round(scale * draw.lognormvariate(0, 0.05), 2) for _ in range(n)]


@pytest.mark.parametrize("values", list(samples()))
def test_centre_and_spread_equal_numpy(values):
    summary = ours.summarise(values)
    assert summary["mean"] == pytest.approx(np.mean(values), rel=1e-14)
    assert summary["median"] == float(np.median(values))
    assert (summary["minimum"], summary["maximum"]) == (min(values), max(values))
    assert summary["range"] == float(np.ptp(values))
    assert summary["n"] == summary["interval"]["n"] == len(values)
    if len(values) == 1:
        assert summary["sd"] is summary["cv"] is None
    else:
        assert summary["sd"] == pytest.approx(np.std(values, ddof=1), rel=1e-9)
        assert summary["cv"] == pytest.approx(stats.variation(values, ddof=1), rel=1e-9)


def test_cv_of_equal_and_of_zero_mean_values():
    assert ours.spread([5.0, 5.0])["cv"] == 0.0
    assert ours.spread([-1.0, 1.0])["cv"] is None
    # A known fault elsewhere: a cv rounded to the decimals of its inputs is 0 here.
    assert ours.spread([1200, 1210, 1195, 1250])["cv"] == pytest.approx(0.02056, abs=1e-5)


def bootstrap_by_enumeration(values, level):
    """Every resample of a small set, counted one by one."""
    ordered = sorted(np.median(draw) for draw in itertools.product(values, repeat=len(values)))
    tail = (1 - level) / 2
    at = [int(np.ceil(round(q * len(ordered), 6))) - 1 for q in (tail, 1 - tail)]
    return ordered[at[0]], ordered[at[1]]


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_bootstrap_equals_the_enumeration_of_every_resample(n, level):
    values = [round(random.Random(n).uniform(350, 370), 2) for _ in range(n)]
    interval = ours.median_interval(values, level)
    assert (interval["low"], interval["high"]) == bootstrap_by_enumeration(values, level)


@pytest.mark.parametrize("n", [5, 6, 9, 12])
def test_bootstrap_is_what_scipy_draws_towards(n):
    values = [round(random.Random(n).gauss(1000, 20), 2) for _ in range(n)]
    drawn = stats.bootstrap(
        (values,), np.median, method="percentile", n_resamples=40_000, rng=np.random.default_rng(1)
    ).bootstrap_distribution
    interval = ours.median_interval(values)
    below = np.mean(drawn < interval["low"] - 1e-9), np.mean(drawn <= interval["low"] + 1e-9)
    above = np.mean(drawn < interval["high"] - 1e-9), np.mean(drawn <= interval["high"] + 1e-9)
    assert below[0] <= 0.025 + 0.004 and below[1] >= 0.025 - 0.004
    assert above[0] <= 0.975 + 0.004 and above[1] >= 0.975 - 0.004


def test_interval_is_the_same_each_time_and_in_any_order():
    assert ours.median_interval(REFERENCE_000) == ours.median_interval(sorted(REFERENCE_000))
    assert ours.median_interval(REFERENCE_000) == ours.median_interval(
        dict(enumerate(REFERENCE_000))
    )
    assert ours.median_interval(REFERENCE_000)["low"] == pytest.approx(9373.19)


def test_one_value_has_no_interval_and_says_so():
    interval = ours.median_interval([362.4])
    assert (interval["low"], interval["high"], interval["n"]) == (None, None, 1)
    assert interval["reason"] == "one value: no interval"


@pytest.mark.parametrize("n", range(2, 40))
def test_order_interval_has_the_coverage_that_it_states(n):
    interval = ours.median_interval(list(range(n)), 0.95, "order")
    if n < 6:
        assert interval["low"] is None and interval["coverage"] is None
        assert "at most" in interval["reason"]
        return
    k = interval["low"] + 1
    assert interval["high"] == n - k
    coverage = stats.binom.cdf(n - k, n, 0.5) - stats.binom.cdf(k - 1, n, 0.5)
    assert interval["coverage"] == pytest.approx(coverage) and coverage >= 0.95
    narrower = stats.binom.cdf(n - k - 1, n, 0.5) - stats.binom.cdf(k, n, 0.5)
    assert narrower < 0.95


def test_ratio_interval_equals_enumeration():
    values, base = [9.0, 10.0, 11.5], [1.0, 1.1, 1.3]
    draws = [
        np.median(a) / np.median(b)
        for a in itertools.product(values, repeat=3)
        for b in itertools.product(base, repeat=3)
    ]
    interval = ours.ratio_interval(values, base, 0.9)
    expected = np.quantile(draws, [0.05, 0.95], method="inverted_cdf")
    assert [interval["low"], interval["high"]] == pytest.approx(list(expected))
    assert ours.ratio_interval([1.0], base)["low"] is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.median([]), "no values"),
        (lambda: ours.mean("12"), "a list of numbers"),
        (lambda: ours.median([1.0, None]), r"values\[1\] is None"),
        (lambda: ours.median([float("nan")]), "finite"),
        (lambda: ours.median_interval([1.0, 2.0], 95), "between 0 and 1"),
        (lambda: ours.median_interval([1.0, 2.0], 0.9, "magic"), "no method named 'magic'"),
        (lambda: ours.median_interval(list(range(201))), "for repeats"),
        (lambda: ours.ratio_interval([1.0, 2.0], [0.0, 1.0]), "above 0"),
        (lambda: ours.ratio_interval(list(range(100)), list(range(1, 101))), "too many"),
    ],
)
def test_errors_say_what_is_needed(call, message):
    with pytest.raises(ValueError, match=message):
        call()
