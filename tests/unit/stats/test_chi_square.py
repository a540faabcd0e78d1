"""Chi-square against scipy."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats.chi_square import (
    lower_tail,
    quantile,
)
from scipy import stats


@pytest.mark.parametrize("freedom", [1, 2, 4, 7.5, 49, 400])
def test_tails_and_quantiles_are_those_of_scipy(freedom):
    for probability in (1e-4, 0.025, 0.5, 0.8, 0.975, 0.9999):
        expected = stats.chi2.ppf(probability, freedom)
        assert quantile(probability, freedom) == pytest.approx(expected, rel=1e-9)
        assert lower_tail(expected, freedom) == pytest.approx(probability, rel=1e-9)


def test_what_is_no_probability_is_refused():
    assert lower_tail(0, 3) == lower_tail(-1, 3) == 0
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile(1, 3)
    with pytest.raises(ValueError, match="above 0"):
        lower_tail(1, 0)
