"""The fastest of several is named when its lead is beyond noise, and equals seldom are."""

import numpy
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats.fastest import fastest

A, B = [100.0, 101.0, 99.5], [90.0, 91.0, 89.5]


@pytest.mark.parametrize(
    ("speeds", "name"),
    [
        ({"a": A, "b": B}, "a"),
        ({"b": B, "a": A}, "a"),
        ({"a": A, "b": B, "c": [99.0, 101.5, 100.5]}, None),
        ({"a": A, "b": [90.0]}, None),
        ({"a": A}, None),
        ({}, None),
    ],
)
def test_a_lead_beyond_noise_has_a_name(speeds, name):
    assert fastest(speeds) == name


@pytest.mark.parametrize("count", [2, 4])
def test_of_equals_one_is_called_the_fastest_no_more_often_than_stated(count):
    random, rounds = numpy.random.default_rng(5), 300
    named = 0
    for _ in range(rounds):
        speeds = 100 * numpy.exp(0.01 * random.normal(size=(count, 5)))
        named += fastest({str(i): list(one) for i, one in enumerate(speeds)}) is not None
    assert named <= 0.05 * rounds
