"""Modified z-scores as Iglewicz and Hoaglin define them."""

import random

import numpy
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats.outliers import LEAST, outliers
from scipy import stats

LEVEL = [352.1, 352.7, 353.0, 351.9, 352.4, 352.6, 352.2, 352.9]


def test_a_value_far_from_the_others_is_told():
    assert outliers([*LEVEL, 330.0]) == [8]
    assert outliers([400.0, *LEVEL, 330.0]) == [0, 9]
    assert outliers(LEVEL) == []


def test_the_scores_are_scipys():
    chance = random.Random(4)
    for _ in range(50):
        values = [chance.gauss(100, 1) for _ in range(chance.randint(8, 30))]
        values[3] += chance.choice([0, 3, 4, 8])
        mad = stats.median_abs_deviation(values)
        scores = 0.6745 * (numpy.array(values) - numpy.median(values)) / mad
        assert outliers(values) == [i for i, score in enumerate(scores) if abs(score) > 3.5]


@pytest.mark.parametrize("values", [[], [1.0], [*LEVEL[: LEAST - 2], 900.0], [5.0] * 9 + [7.0]])
def test_none_is_told_without_a_scale(values):
    assert outliers(values) == []


def test_normal_values_are_seldom_told():
    chance = random.Random(5)
    told = sum(len(outliers([chance.gauss(0, 1) for _ in range(20)])) for _ in range(500))
    assert told / (500 * 20) < 0.012
