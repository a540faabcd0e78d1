"""The sample that runs again alone: of packed repeats only, the same for the same seed."""

from collections import Counter

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning.schedule import (
    sample_alone,
)


def waves(*members):
    return [{"repeats": [{"index": index} for index in wave], "seconds": 1} for wave in members]


PACKED = waves([0], *([number, number + 1] for number in range(1, 41, 2)), [41])


def test_a_tenth_of_the_packed_repeats_is_drawn():
    drawn = sample_alone(PACKED, "night")
    assert len(drawn) == 4
    assert drawn == sorted(set(drawn))
    assert set(drawn) <= set(range(1, 41))


def test_the_draw_is_the_same_on_every_machine():
    # Of `printf night:N | sha256sum` those of 5, 4 and 0 are the smallest.
    assert sample_alone(waves([0, 1, 2, 3], [4, 5]), "night", 0.5) == [0, 4, 5]


def test_at_least_one_is_drawn_and_none_where_nothing_was_packed():
    assert len(sample_alone(waves([0, 1]), "night")) == 1
    assert sample_alone(waves([0], [1]), "night") == []
    assert sample_alone([], "night") == []


def test_all_may_be_asked_for():
    assert sample_alone(PACKED, "night", 1) == list(range(1, 41))


def test_seeds_draw_each_repeat_about_equally_often():
    drawn = Counter(index for seed in range(1000) for index in sample_alone(PACKED, f"seed{seed}"))
    # 1000 draws of 4 out of 40: 100 each, standard deviation 9.5; five of them either way.
    assert set(drawn) == set(range(1, 41))
    assert all(52 < times < 148 for times in drawn.values())


@pytest.mark.parametrize("share", [0, -0.1, 1.1])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        sample_alone(PACKED, "night", share)
