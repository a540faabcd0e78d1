"""The small form of tests/benchmarks/error_rates.py: each rule keeps the rate that it states."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_simulations import SIMULATIONS, rate
from scipy import stats

DOCS = Path(__file__).parents[3] / "docs" / "statistics.md"
STATED = [simulation for simulation in SIMULATIONS if simulation.stated]


@pytest.mark.parametrize("of", STATED, ids=lambda of: f"{of.rule}, {of.rate}: {of.noise}")
def test_the_rate_is_the_one_that_is_stated(of):
    least, most = of.stated
    hits = round(rate(of, of.few) * of.few)
    # What the stated rate gives in all but one of 2000 tests.
    assert hits <= stats.binom.ppf(0.9995, of.few, most)
    assert hits >= stats.binom.ppf(0.0005, of.few, least)


def test_each_rule_has_a_row_that_states_its_rate():
    assert {one.rule for one in STATED} == {one.rule for one in SIMULATIONS}
    names = [(one.rule, one.rate, one.noise) for one in SIMULATIONS]
    assert len(set(names)) == len(names)


def test_the_documentation_has_the_rate_of_every_rule():
    rows = [line.strip("| ").split(" | ") for line in DOCS.read_text().splitlines() if "|" in line]
    documented = {tuple(row[:3]): float(row[4]) / 100 for row in rows[2:]}
    assert list(documented) == [(one.rule, one.rate, one.noise) for one in SIMULATIONS]
    for one in STATED:
        least, most = one.stated
        printed = documented[one.rule, one.rate, one.noise]
        # What chance may add in as many trials, and what rounding to 0.1 % may.
        assert least - 0.012 <= printed <= most + 0.012
