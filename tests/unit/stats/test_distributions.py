"""Student's t and chi-square against scipy."""

import math

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats.distributions import (
    chi_square_lower_tail,
    chi_square_quantile,
    t_quantile,
    t_upper_tail,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

DEGREES = (0.5, 1, 1.3, 2, 3.7, 8, 50, 1e4, 1e6)


@pytest.mark.parametrize("degrees", DEGREES)
@pytest.mark.parametrize("t", [-300, -5, -0.3, -1e-6, 0, 1e-9, 0.1, 1, 2.3, 7.9, 50, 1000])
def test_tail_is_scipys(t, degrees):
    assert t_upper_tail(t, degrees) == pytest.approx(stats.t.sf(t, degrees), rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("degrees", DEGREES[1:])
@pytest.mark.parametrize("probability", [1e-9, 0.001, 0.025, 0.5, 0.9, 0.975, 0.9999])
def test_quantile_is_scipys(probability, degrees):
    expected = stats.t.ppf(probability, degrees)
    assert t_quantile(probability, degrees) == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_a_quantile_beyond_all_numbers_is_infinite():
    assert t_quantile(1 - 1e-9, 0.05) == math.inf


@given(st.floats(-1e6, 1e6), st.floats(0.5, 1e5))
def test_both_tails_are_one(t, degrees):
    assert t_upper_tail(t, degrees) + t_upper_tail(-t, degrees) == pytest.approx(1, abs=1e-9)
    assert 0 <= t_upper_tail(t, degrees) <= 1


def test_far_out_nothing_is_left():
    assert t_upper_tail(math.inf, 5) == 0
    assert t_upper_tail(1e200, 5) == 0


@pytest.mark.parametrize("probability", [0, 1, -0.1, math.nan])
def test_no_quantile_outside(probability):
    with pytest.raises(ValueError, match="between 0 and 1"):
        t_quantile(probability, 5)


@pytest.mark.parametrize("degrees", [0, -1, math.nan])
def test_no_tail_without_degrees_of_freedom(degrees):
    with pytest.raises(ValueError, match="above 0"):
        t_upper_tail(1, degrees)


@pytest.mark.parametrize("freedom", [1, 2, 4, 7.5, 49, 400])
def test_chi_square_is_scipys(freedom):
    for probability in (1e-4, 0.025, 0.5, 0.8, 0.975, 0.9999):
        expected = stats.chi2.ppf(probability, freedom)
        assert chi_square_quantile(probability, freedom) == pytest.approx(expected, rel=1e-9)
        assert chi_square_lower_tail(expected, freedom) == pytest.approx(probability, rel=1e-9)


def test_what_is_no_probability_is_refused():
    assert chi_square_lower_tail(0, 3) == chi_square_lower_tail(-1, 3) == 0
    with pytest.raises(ValueError, match="between 0 and 1"):
        chi_square_quantile(1, 3)
    with pytest.raises(ValueError, match="above 0"):
        chi_square_lower_tail(1, 0)
