"""Holm's correction, against its definition and by simulation."""

import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats.holm import holm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats


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
