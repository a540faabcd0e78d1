"""Changes are found where they are; a series without one is marked no more often than stated."""

import random

import numpy
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats import change_points as module
from ansible_collections.scalebench.core.plugins.module_utils.stats.change_points import (
    ALPHA,
    LEAST,
    LEAST_FOR_OUTLIERS,
    LOOKS,
    change_points,
    common_change_points,
    outlier_cut,
    outliers,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats


def series(seed, *levels, noise=0.01):
    """Return values around levels, each (level, how many), with relative normal noise."""
    chance = random.Random(seed)
    return [chance.gauss(level, noise * level) for level, many in levels for _ in range(many)]


def share(seeds, *levels, expected):
    """Return the share of series whose change points are the expected ones."""
    return sum(change_points(series(seed, *levels)) == expected for seed in seeds) / len(seeds)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([(100, 12)], []),
        ([(100, 10), (90, 5)], [10]),
        ([(100, 15), (90, 3)], [15]),
        ([(100, 8), (90, 4), (100, 8)], [8, 12]),
        ([(100, 10), (90, 10), (80, 10)], [10, 20]),
    ],
)
def test_levels_far_apart(levels, expected):
    assert change_points(series(1, *levels)) == expected


@pytest.mark.parametrize(("before", "after"), [(6, 6), (10, 4), (20, 3)])
def test_a_change_of_5_percent_at_1_percent_noise_is_found(before, after):
    found = [change_points(series(seed, (100, before), (95, after))) for seed in range(20)]
    near = [any(abs(place - before) <= 1 for place in places) for places in found]
    assert sum(near) >= 0.95 * len(near)


def test_an_episode_of_5_percent_at_1_percent_noise_is_found():
    assert share(range(20), (100, 8), (95, 4), (100, 8), expected=[8, 12]) >= 0.9


@pytest.mark.parametrize(
    "noise", [stats.t(3), stats.lognorm(0.5)], ids=["Student's t", "lognormal"]
)
def test_false_alarms_need_no_normal_noise(noise):
    values = noise.rvs(size=(300, 12), random_state=7)
    told = sum(bool(change_points(list(row))) for row in values)
    assert told <= stats.binom.ppf(0.999, 300, module._LEVEL)


def test_looking_after_each_campaign_marks_no_more_than_stated():
    told = 0
    for seed in range(12):
        values = series(seed, (100, LEAST - 1 + LOOKS))
        told += any(change_points(values[:end]) for end in range(LEAST, len(values) + 1, 2))
    assert told <= stats.binom.ppf(0.99, 12, ALPHA)


def test_many_trends_are_marked_no_more_often_than_one():
    steady = [series(seed, (100, 15)) for seed in range(60)]
    alone = sum(bool(change_points(values)) for values in steady)
    assert alone, "without the correction some of so many are marked"
    assert not any(common_change_points(steady))


def test_a_change_of_all_trends_and_of_one_among_many_is_found():
    changed = [series(seed, (100, 12), (95, 4)) for seed in range(10)]
    found = common_change_points(changed)
    assert sum(places == [12] for places in found) >= 8
    one = [series(seed, (100, 18)) for seed in range(39)] + [series(99, (100, 10), (90, 8))]
    assert common_change_points(one) == [[]] * 39 + [[10]]


def test_no_series_has_no_change():
    assert common_change_points([]) == []


def test_the_split_is_where_the_analysis_of_variance_puts_it():
    for seed in range(30):
        values = series(seed, (100, 7), (99, 6))
        _, (place,) = module._best_split(values)
        between = [stats.f_oneway(values[:i], values[i:]).statistic for i in range(2, 12)]
        assert place == 2 + int(numpy.argmax(between))


def test_the_significance_is_scipys():
    """Hold our p against that of scipy's permutation test of the same statistic."""

    def greatest(values, axis=-1):
        return numpy.apply_along_axis(lambda row: module._best_split(list(row))[0], axis, values)

    for seed, levels in enumerate([[(100, 12)], [(100, 6), (99, 6)], [(100, 6), (97.5, 6)]]):
        values = series(seed, *levels)
        theirs = stats.permutation_test(
            (values,),
            greatest,
            permutation_type="pairings",
            alternative="greater",
            n_resamples=499,
            random_state=3,
            vectorized=True,
        ).pvalue
        ours = module._p_value(values, module._best_split, 499)
        if ours < 0.1:
            assert ours == pytest.approx(theirs, abs=0.03)
        else:
            assert ours == pytest.approx(theirs, rel=0.6)


@pytest.mark.parametrize("values", [[], [1.0] * 3, [100.0] * 30, series(1, (100, 4), (50, 4))])
def test_too_few_or_equal_values_have_no_change(values):
    assert change_points(values) == []
    assert len(values) < LEAST or len(set(values)) == 1


@pytest.mark.parametrize("outlier", [60.0, 130.0])
@pytest.mark.parametrize("place", [0, 4, 9])
def test_an_outlier_hides_no_change(outlier, place):
    values = series(3, (100, 10), (95, 10))
    values[place] = outlier
    assert change_points(values) == [10]


def test_an_outlier_is_no_change():
    for place in (0, 7, 15):
        values = series(4, (100, 16))
        values[place] = 60.0
        assert change_points(values) == []


@settings(max_examples=20)
@given(
    st.lists(st.floats(1, 1e4), max_size=16),
    st.sampled_from([2.0, 0.25, 1024.0]),
)
def test_the_unit_does_not_matter(values, scale):
    found = change_points(values)
    assert change_points(values) == found, "the same values give the same answer"
    assert change_points([value * scale for value in values]) == found
    assert all(2 <= place <= len(values) - 2 for place in found)


LEVEL = [352.1, 352.7, 353.0, 351.9, 352.4, 352.6, 352.2, 352.9]


def test_a_value_far_from_the_others_is_told():
    assert outliers([*LEVEL, 330.0]) == [8]
    assert outliers([400.0, *LEVEL, 330.0]) == [0, 9]
    assert outliers(LEVEL) == []


def test_the_scores_are_scipys():
    chance = random.Random(4)
    for _ in range(50):
        values = [chance.gauss(100, 1) for _ in range(chance.randint(8, 30))]
        values[3] += chance.choice([0, 5, 8, 12])
        mad = stats.median_abs_deviation(values)
        scores = 0.6745 * (numpy.array(values) - numpy.median(values)) / mad
        cut = outlier_cut(len(values))
        assert outliers(values) == [i for i, score in enumerate(scores) if abs(score) > cut]


@pytest.mark.parametrize(
    "values", [[], [1.0], [*LEVEL[: LEAST_FOR_OUTLIERS - 2], 900.0], [5.0] * 9 + [7.0]]
)
def test_none_is_told_without_a_scale(values):
    assert outliers(values) == []


@pytest.mark.parametrize("count", [8, 12, 20, 50])
def test_one_series_in_a_hundred_has_an_outlier(count):
    chance = random.Random(5)
    told = sum(bool(outliers([chance.gauss(0, 1) for _ in range(count)])) for _ in range(2000))
    assert 0.003 < told / 2000 < 0.02
