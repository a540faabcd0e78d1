"""Adaptive repeats: the width decides, and looking every time costs little coverage."""

from __future__ import annotations

from random import Random

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.running.policy import enough_repeats
from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import (
    median_interval,
)
from hypothesis import given
from hypothesis import strategies as st

STEADY = [100.0, 100.4, 99.8, 100.1, 99.9, 100.2]
SPEEDS = st.lists(st.floats(50, 150), max_size=20)


def test_a_narrow_interval_is_enough():
    found = enough_repeats(STEADY, 3, 12, 0.01)
    assert found == {
        "enough": True,
        "n": 6,
        "half_width": pytest.approx(0.6 / 2 / 100.05),
        "why": "6 repeats: ±0.30%, asked for ±1.00%",
    }


def test_the_interval_of_eight_repeats_is_between_the_outermost():
    # Between the second lowest and highest it would cover 93 %.
    assert enough_repeats([90.0, *STEADY, 110.0], 3, 12, 0.01)["half_width"] == pytest.approx(
        10 / 100.05
    )


def test_a_wide_one_goes_on_until_the_maximum():
    speeds = [100.0, 130.0, 90.0, 110.0, 95.0, 120.0, 105.0]
    assert not enough_repeats(speeds, 3, 8, 0.01)["enough"]
    last = enough_repeats([*speeds, 99.0], 3, 8, 0.01)
    assert last["enough"]
    assert last["why"].endswith("the maximum of 8 attempts is reached")
    assert last["half_width"] > 0.01


def test_the_minimum_is_run_however_steady_it_is():
    assert not enough_repeats([100.0] * 9, 10, 20, 0.5)["enough"]
    assert enough_repeats([100.0] * 10, 10, 20, 0.5)["enough"]


def test_fewer_than_six_have_no_interval():
    found = enough_repeats([100.0] * 5, 3, 20, 0.5)
    assert (found["enough"], found["half_width"]) == (False, None)
    assert "no interval yet" in found["why"]


def test_failed_attempts_count_towards_the_maximum_only():
    some = enough_repeats([*STEADY[:5], None, None], 3, 8, 0.01)
    assert (some["enough"], some["n"]) == (False, 5)
    assert enough_repeats([*STEADY[:5], None, None, None], 3, 8, 0.01)["enough"]
    assert enough_repeats([None] * 8, 3, 8, 0.01)["n"] == 0


@given(SPEEDS, st.sampled_from([0.25, 2.0, 1024.0]), st.randoms(use_true_random=False))
def test_neither_the_value_nor_the_order_decides(speeds, factor, random):
    other = [speed * factor for speed in speeds]
    random.shuffle(other)
    assert (
        enough_repeats(other, 6, 20, 0.1)["enough"] == enough_repeats(speeds, 6, 20, 0.1)["enough"]
    )


@given(st.lists(st.none() | st.floats(50, 150), min_size=12, max_size=12))
def test_it_always_ends_at_the_maximum(speeds):
    assert enough_repeats(speeds, 6, 12, 1e-9)["enough"]


@pytest.mark.parametrize(
    ("minimum", "maximum", "half_width", "words"),
    [
        (3, 5, 0.01, "at most 5 repeats: 6 are needed"),
        (9, 8, 0.01, "at most 8 repeats: 9 are needed"),
        (3, 8, 0.0, "half-width 0.0"),
    ],
)
def test_an_impossible_rule_is_refused(minimum, maximum, half_width, words):
    with pytest.raises(ValueError, match=words):
        enough_repeats([], minimum, maximum, half_width)


SPREAD = 0.03
DRAWS = {
    "normal": (lambda random: random.gauss(1, SPREAD), 1.0),
    "skewed": (
        lambda random: 1 / (1 + random.expovariate(1 / SPREAD)),
        1 / (1 + SPREAD * 0.6931471805599453),
    ),
}


@pytest.mark.parametrize("shape", DRAWS)
@pytest.mark.parametrize("asked", [0.5, 1.0])
def test_looking_after_every_repeat_leaves_the_interval_its_coverage(shape, asked):
    """Of 400 campaigns, with a standard error of 1.2 %; the docstring's figures are of 2000."""
    draw, true = DRAWS[shape]
    random, covered, count = Random(6), 0, 400
    for _ in range(count):
        speeds = [draw(random) for _ in range(6)]
        while not enough_repeats(speeds, 6, 20, asked * SPREAD)["enough"]:
            speeds.append(draw(random))
        interval = median_interval(speeds, 0.95)
        covered += interval["low"] <= true <= interval["high"]
    assert covered / count > 0.9
