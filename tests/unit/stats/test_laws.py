"""Laws of times: known ones are found, intervals hold them as often as said, others are denied."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stats.distributions import (
    f_upper_tail,
    t_quantile,
)
from ansible_collections.scalebench.core.plugins.module_utils.stats.laws import (
    hockney,
    karp_flatt,
    serial_share,
)

DRAWS = 1000
SIZES = (1024, 16384, 262144, 1048576, 4194304, 16777216)
LATENCY, PER_BYTE = 200e-6, 1e-9


def by_amdahl(share, noise=0.0, repeats=3, devices=(1, 2, 4, 8), seed=0):
    """Return seconds by Amdahl's law with normal noise."""
    draw = Random(seed)
    return {
        p: [3 * (share + (1 - share) / p) * (1 + draw.gauss(0, noise)) for _ in range(repeats)]
        for p in devices
    }


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 1.0])
def test_a_known_share_is_found_exactly(share):
    found = serial_share(by_amdahl(share))
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
        found = serial_share(by_amdahl(share, 0.02, 3, devices, seed))
        held += found["low"] <= share <= found["high"]
    # More than 4 standard deviations (0.7 %) from 95 % in one of 15,000 series.
    assert held / DRAWS == pytest.approx(0.95, abs=0.028)


def test_what_the_law_does_not_describe_widens_the_interval():
    law = serial_share(by_amdahl(0.1, 0.005, seed=1))
    bent = by_amdahl(0.1, 0.005, seed=1)
    bent[8] = [value * 1.5 for value in bent[8]]
    worse = serial_share(bent)
    assert worse["high"] - worse["low"] > 5 * (law["high"] - law["low"])


def test_more_repeats_do_not_make_a_law_exact_that_does_not_hold():
    few, many = (by_amdahl(0.02, 0.005, repeats, (1, 2, 4, 8, 16), seed=3) for repeats in (3, 60))
    # A cost that grows with the devices, as of communication.
    few, many = (
        {p: [value + 0.02 * (p - 1) for value in of] for p, of in one.items()}
        for one in (few, many)
    )
    widths = [one["high"] - one["low"] for one in map(serial_share, (few, many))]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    assert serial_share(many)["reason"] == "the times do not follow the law"


def test_a_law_that_holds_is_denied_in_5_of_100_campaigns():
    denied = sum(
        bool(serial_share(by_amdahl(0.1, 0.02, seed=seed))["reason"]) for seed in range(DRAWS)
    )
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


def by_hockney(random, cv=0.05, repeats=3, law=lambda size: LATENCY + size * PER_BYTE):
    """Return seconds of each repeat by size, with lognormal noise."""
    return {
        size: [law(size) * random.lognormvariate(0, cv) for _ in range(repeats)] for size in SIZES
    }


def test_a_law_without_noise_is_found():
    found = hockney(by_hockney(Random(1), cv=0))
    assert found["latency_seconds"] == pytest.approx(LATENCY)
    assert found["bytes_per_second"] == pytest.approx(1e9)
    assert found["latency_error"] < 1e-12
    assert (found["holds"], found["n"]) == (True, 18)


def test_the_intervals_hold_the_truth_as_often_as_they_say():
    """Both ends of the law, and its word that it holds, in 400 draws: 2 sd of 95 % are 2.2 %."""
    random, trials = Random(3), 400
    found = [hockney(by_hockney(random)) for _ in range(trials)]
    latency = sum(one["latency_low"] <= LATENCY <= one["latency_high"] for one in found)
    bandwidth = sum(
        one["bytes_per_second_low"] <= 1 / PER_BYTE <= one["bytes_per_second_high"] for one in found
    )
    holds = sum(one["holds"] for one in found)
    for count in (latency, bandwidth, holds):
        assert count / trials == pytest.approx(0.95, abs=0.03)


def test_small_messages_decide_the_latency():
    """The smallest takes 20 us more: of an unweighted line the noise of the largest hides it."""
    seconds = by_hockney(Random(5))
    longer = {**seconds, 1024: [one + 20e-6 for one in seconds[1024]]}
    more = hockney(longer)["latency_seconds"] - hockney(seconds)["latency_seconds"]
    assert 5e-6 < more < 20e-6


def test_a_change_of_algorithm_is_no_law_and_widens_the_errors():
    def law(size):
        return LATENCY + size * PER_BYTE * (1 if size < 1 << 20 else 3)

    random = Random(8)
    seconds = by_hockney(random, 0.01, law=law)
    found, right = hockney(seconds), hockney(by_hockney(random, 0.01))
    assert (found["holds"], right["holds"]) == (False, True)
    assert found["reason"] == "the times do not follow the law"
    assert found["freedom"] == len(SIZES) - 2
    assert found["latency_error"] > 10 * right["latency_error"]
    off = {
        size: fmean(own) / (found["latency_seconds"] + size * found["seconds_per_byte"]) - 1
        for size, own in seconds.items()
    }
    assert found["worst"] == pytest.approx(off[found["worst_bytes"]])
    assert abs(found["worst"]) == pytest.approx(max(map(abs, off.values())))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        ({1024: [1e-4], 4096: [2e-4]}, "2 size(s), and the law takes 3 to be checked"),
        ({}, "0 size(s)"),
        ({1: [3.0], 2: [2.0], 3: [1.0]}, "its time of a byte would be below 0"),
        ({1024: [1e-9], 2048: [1e-6], 4096: [1e-3]}, "its latency would be below 0"),
    ],
)
def test_without_a_law_the_reason_is_said(seconds, words):
    found = hockney(seconds)
    assert words in found["reason"]
    assert (found["latency_seconds"], found["bytes_per_second"]) == (None, None)
    assert set(found) == set(hockney(by_hockney(Random(1))))


def test_a_bandwidth_that_noise_hides_has_no_upper_end():
    """Three sizes so small that noise hides what a byte takes."""
    found = hockney({8: [1.0e-4, 1.1e-4], 16: [1.01e-4, 1.12e-4], 24: [1.02e-4, 1.13e-4]})
    assert found["bytes_per_second"] > found["bytes_per_second_low"] > 0
    assert found["bytes_per_second_high"] is None


def test_errors_and_covariance_are_those_of_weighted_least_squares():
    """By hand: the inverse of X'X of relative figures, times the mean square that is left."""
    seconds = {1024: [1.0e-3, 1.1e-3], 65536: [1.5e-3, 1.6e-3], 1 << 20: [9e-3, 9.6e-3]}
    found = hockney(seconds)
    rows = [
        (1 / fmean(every), size / fmean(every), one / fmean(every))
        for size, every in seconds.items()
        for one in every
    ]
    uu, uv, vv = (sum(row[a] * row[b] for row in rows) for a, b in ((0, 0), (0, 1), (1, 1)))
    latency, per_byte = found["latency_seconds"], 1 / found["bytes_per_second"]
    left = sum((t - latency * u - per_byte * v) ** 2 for u, v, t in rows) / (len(rows) - 2)
    determinant = uu * vv - uv * uv
    assert found["covariance"] == pytest.approx(-left * uv / determinant, rel=1e-6)
    assert found["latency_error"] ** 2 == pytest.approx(left * vv / determinant, rel=1e-6)
    reach = t_quantile(0.975, found["freedom"]) * found["latency_error"]
    assert found["latency_high"] - latency == pytest.approx(reach)


def test_where_there_is_no_law_no_error_has_freedom():
    found = hockney({1024.0: [1e-3, 1.1e-3], 4096.0: [2e-3]})
    assert (found["freedom"], found["latency_seconds"], found["n"]) == (0, None, 3)
