"""The serial share by Amdahl's law: known ones are found, intervals hold them as often as said."""

import random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats.laws import (
    karp_flatt,
    serial_share,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.student_t import f_upper_tail

DRAWS = 1000


def times(share, noise=0.0, repeats=3, devices=(1, 2, 4, 8), seed=0):
    """Return seconds by Amdahl's law with normal noise."""
    draw = random.Random(seed)
    return {
        p: [3 * (share + (1 - share) / p) * (1 + draw.gauss(0, noise)) for _ in range(repeats)]
        for p in devices
    }


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 1.0])
def test_a_known_share_is_found_exactly(share):
    found = serial_share(times(share))
    assert [found[key] for key in ("share", "low", "high")] == pytest.approx([share] * 3, abs=1e-7)
    assert found["n"] == 12
    for p in (2, 8):
        assert karp_flatt(1 / (share + (1 - share) / p), p) == pytest.approx(share)


def test_a_share_by_hand():
    # (1 / 1.95 - 1 / 2) / (1 - 1 / 2) and (1 / 6.96 - 1 / 8) / (1 - 1 / 8)
    assert karp_flatt(1.95, 2) == pytest.approx(0.026, abs=0.0005)
    assert karp_flatt(6.96, 8) == pytest.approx(0.021, abs=0.0005)


def test_more_than_ideal_is_below_zero_and_one_device_shows_nothing():
    assert karp_flatt(2.5, 2) < 0
    assert karp_flatt(1.0, 1) is None
    assert serial_share({1: [10.0, 10.1], 2: [4.0, 4.1]})["high"] < 0


@pytest.mark.parametrize(("share", "devices"), [(0.02, (1, 2, 4, 8)), (0.3, (1, 2)), (0, (1, 32))])
def test_the_interval_holds_the_share_in_95_of_100_campaigns(share, devices):
    held = 0
    for seed in range(DRAWS):
        found = serial_share(times(share, 0.02, 3, devices, seed))
        held += found["low"] <= share <= found["high"]
    # More than 4 standard deviations (0.7 %) from 95 % in one of 15,000 series.
    assert held / DRAWS == pytest.approx(0.95, abs=0.028)


def test_what_the_law_does_not_describe_widens_the_interval():
    law = serial_share(times(0.1, 0.005, seed=1))
    bent = times(0.1, 0.005, seed=1)
    bent[8] = [value * 1.5 for value in bent[8]]
    worse = serial_share(bent)
    assert worse["high"] - worse["low"] > 5 * (law["high"] - law["low"])


def test_more_repeats_do_not_make_a_law_exact_that_does_not_hold():
    few, many = (times(0.02, 0.005, repeats, (1, 2, 4, 8, 16), seed=3) for repeats in (3, 60))
    # A cost that grows with the devices, as of communication.
    few, many = (
        {p: [value + 0.02 * (p - 1) for value in of] for p, of in one.items()}
        for one in (few, many)
    )
    widths = [one["high"] - one["low"] for one in map(serial_share, (few, many))]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    assert serial_share(many)["reason"] == "the times do not follow the law"


def test_a_law_that_holds_is_denied_in_5_of_100_campaigns():
    denied = sum(bool(serial_share(times(0.1, 0.02, seed=seed))["reason"]) for seed in range(DRAWS))
    assert denied / DRAWS == pytest.approx(0.05, abs=0.028)


def test_the_tail_of_f():
    # Tables: F of 2 and 8 degrees of freedom is above 4.459, of 1 and 10 above 4.965, in 5 %.
    assert f_upper_tail(4.459, 2, 8) == pytest.approx(0.05, abs=1e-4)
    assert f_upper_tail(4.965, 1, 10) == pytest.approx(0.05, abs=1e-4)
    assert f_upper_tail(0.0, 2, 8) == 1


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [
        ({}, "one topology shows no law"),
        ({1: [1.0, 1.1, 1.2], 2: []}, "one topology shows no law"),
        ({1: [1.0], 2: [0.6]}, "one repeat of each shows no spread"),
        ({1: [1.0, 9.0], 2: [1.0, 9.0]}, "the repeats scatter too much"),
    ],
)
def test_too_little_is_said(seconds, reason):
    found = serial_share(seconds)
    assert (found["low"], found["reason"]) == (None, reason)
