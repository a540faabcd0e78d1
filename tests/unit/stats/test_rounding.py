"""The rounding rules, against numpy, and the ties that decide which rule the references used."""

import math
import random
from pathlib import Path

import numpy as np
import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.stats.rounding import (
    ROUNDINGS,
    round_as,
    round_speed,
)

# Medians of the reference efforts before rounding, all of them ties, and the printed values.
TIES = {
    5099.425: 5099.42,
    9514.645: 9514.64,
    352.715: 352.72,
    644.665: 644.66,
    1358.635: 1358.64,
    4895.275: 4895.27,
    9348.175: 9348.17,
}


@pytest.mark.parametrize(("value", "printed"), TIES.items())
def test_numpy_2_gives_every_tie_of_the_reference_efforts(value, printed):
    assert round_as(value) == printed


def test_no_other_rule_gives_all_ties():
    right = [n for n in ROUNDINGS if all(round_as(v, n) == p for v, p in TIES.items())]
    assert right == ["numpy_2"]


@pytest.mark.parametrize("places", range(5))
def test_numpy_rules_equal_numpy(places):
    draw = random.Random(places)
    for _ in range(3000):
        value = draw.choice((1, 10, 1e4, 1e6)) * draw.random()
        assert round_as(value, f"numpy_{places}") == float(np.round(value, places))


@pytest.mark.parametrize(
    ("value", "rounding", "printed"),
    [
        (352.715, "python_2", 352.71),
        (3038.7307, "truncate_3", 3038.730),
        (1271.291, "truncate_3", 1271.291),
        (7601.889, "truncate_3", 7601.889),
        (1.999, "truncate_0", 1.0),
        (-1.999, "truncate_2", -1.99),
        (2948.16, "g5", 2948.2),
        (1411.96, "g5", 1412.0),
        (9500.46, "g5", 9500.5),
        (10553.2855, "g6", 10553.3),
        (382.806, "g6", 382.806),
        (321.8024, "none", 321.8024),
    ],
)
def test_named_rules(value, rounding, printed):
    assert round_as(value, rounding) == printed


def test_truncation_never_loses_a_digit_that_was_printed():
    for thousandths in range(1_271_000, 1_273_000):
        printed = thousandths / 1000
        assert round_as(printed, "truncate_3") == printed


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_large_numbers_keep_their_size(rounding):
    assert math.isclose(round_as(1e300, rounding), 1e300, rel_tol=1e-3)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "1.5", None])
def test_no_number_is_an_error(value):
    with pytest.raises(ValueError, match="finite number"):
        round_as(value)


def test_the_filter_documents_every_rule():
    text = (Path(__file__).parents[3] / "filter_plugins/round_as.yml").read_text()
    documented = yaml.safe_load(text)["DOCUMENTATION"]["options"]["rounding"]["choices"]
    assert documented == [*ROUNDINGS]


def test_unknown_rule_is_an_error_that_lists_the_rules():
    with pytest.raises(ValueError, match="no rounding named 'half_up': use one of none, numpy_0"):
        round_as(1.0, "half_up")


@pytest.mark.parametrize(
    ("value", "rounding", "kept"),
    [
        (0.0012345, "numpy_2", 0.00123),
        (0.5049, "numpy_2", 0.505),
        (1.2349, "numpy_2", 1.23),
        (5099.425, "numpy_2", 5099.42),
        (0.4, "numpy_0", 0.4),
        (0.123456, "numpy_4", 0.1235),
        (0.123456, "none", 0.123456),
    ],
)
def test_a_throughput_below_1_keeps_three_digits(value, rounding, kept):
    assert round_speed(value, rounding) == kept
