"""Quantiles of Student's t, held against scipy."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.student import t_quantile
from scipy import stats


@pytest.mark.parametrize("probability", [0.5, 0.6, 0.9, 0.95, 0.975, 0.995])
@pytest.mark.parametrize("freedom", [1, 1.5, 2, 4.37, 8, 29.9, 199])
def test_quantiles_are_those_of_scipy(probability, freedom):
    assert t_quantile(probability, freedom) == pytest.approx(
        stats.t.ppf(probability, freedom), rel=1e-7, abs=1e-9
    )


@pytest.mark.parametrize(
    ("probability", "freedom", "problem"),
    [(0.4, 3, "probability 0.4"), (1, 3, "probability 1"), (0.9, 0, "0 degrees of freedom")],
)
def test_what_has_no_quantile_is_an_error(probability, freedom, problem):
    with pytest.raises(ValueError, match=problem):
        t_quantile(probability, freedom)
