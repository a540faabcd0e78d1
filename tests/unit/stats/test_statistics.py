"""Statistics of repeats, against numpy and scipy."""

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


@pytest.mark.parametrize("count", range(2, 13))
def test_the_scaled_mad_of_few_normal_values_is_their_standard_deviation_on_average(count):
    values = np.random.default_rng(count).normal(size=(200_000, count))
    found = ours.mad_scale(count) * stats.median_abs_deviation(values, axis=1)
    # The published factor of six values is 0.7 % off.
    assert found.mean() == pytest.approx(1, rel=0.01)


def test_cv_of_equal_and_of_zero_mean_values():
    assert ours.spread([5.0, 5.0])["cv"] == 0.0
    assert ours.spread([-1.0, 1.0])["cv"] is None
    # A known fault elsewhere: a cv rounded to the decimals of its inputs is 0 here.
    assert ours.spread([1200, 1210, 1195, 1250])["cv"] == pytest.approx(0.02056, abs=1e-5)


def test_interval_is_the_same_each_time_and_in_any_order():
    assert ours.median_interval(REFERENCE_000) == ours.median_interval(sorted(REFERENCE_000))
    assert ours.median_interval(REFERENCE_000) == ours.median_interval(
        dict(enumerate(REFERENCE_000))
    )
    assert ours.median_interval(REFERENCE_000)["low"] == 9342.6


def test_one_value_has_no_interval_and_says_so():
    interval = ours.median_interval([362.4])
    assert (interval["low"], interval["high"], interval["n"]) == (None, None, 1)
    assert (interval["coverage"], interval["reason"]) == (None, "one value")


@pytest.mark.parametrize("n", [*range(2, 40), 1023, 1024, 10_000])
def test_interval_has_the_coverage_that_it_states(n):
    interval = ours.median_interval(list(range(n)), 0.95)
    k = interval["low"] + 1
    assert interval["high"] == n - k
    coverage = stats.binom.cdf(n - k, n, 0.5) - stats.binom.cdf(k - 1, n, 0.5)
    assert interval["coverage"] == pytest.approx(coverage)
    if n < 6:
        assert (k, interval["reason"]) == (1, "")
        return
    assert coverage >= 0.95
    assert stats.binom.cdf(n - k - 1, n, 0.5) - stats.binom.cdf(k, n, 0.5) < 0.95


@pytest.mark.parametrize("n", [2, 3, 5, 7, 12])
def test_interval_covers_the_true_median_as_often_as_stated(n):
    drawn = np.random.default_rng(n).lognormal(0, 0.02, (2000, n))
    found = [ours.median_interval(list(row)) for row in drawn]
    covered = sum(one["low"] <= 1 <= one["high"] for one in found)
    stated = stats.binom(2000, found[0]["coverage"])
    assert stated.ppf(1e-4) <= covered <= stated.isf(1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.median([]), "no values"),
        (lambda: ours.mean("12"), "a list of numbers"),
        (lambda: ours.median([1.0, None]), r"values\[1\] is None"),
        (lambda: ours.median([float("nan")]), "finite"),
        (lambda: ours.median_interval([1.0, 2.0], 95), "between 0 and 1"),
    ],
)
def test_errors_say_what_is_needed(call, message):
    with pytest.raises(ValueError, match=message):
        call()
