"""How far a campaign is."""

from ansible_collections.scalebench.core.plugins.module_utils.progress import (
    Progress,
    remaining_seconds,
)

MISSING = [
    {"log": "logs/pytorch/bz4/1n1g/r50_b4_fp32_1.log", "seconds": 10.0},
    {"log": "logs/pytorch/bz4/2n1g/r50_b4_fp32_1.log", "seconds": 20.0},
]


def test_the_rest_is_scaled_by_how_the_done_ones_went():
    assert remaining_seconds([10, 20, 30], [], 0) == 60
    assert remaining_seconds([10, 20, 30], [20], 0) == 100
    assert remaining_seconds([10, 20, 30], [20], 15) == 85
    assert remaining_seconds([10], [], 99) == 0


def test_without_estimates_the_mean_of_the_done_ones_counts():
    assert remaining_seconds([0, 0, 0], [], 3) is None
    assert remaining_seconds([0, 0, 0], [8], 0) == 16


def test_a_repeat_that_ends_moves_the_state_and_gives_its_line():
    progress = Progress("c", MISSING)
    assert progress.current == "pytorch/bz4/1n1g/r50_b4_fp32_1"
    line = progress.end({"ending": "ok", "throughput": 24.126, "unit": "images/s"}, 11.0)
    assert line.split() == [
        "[1/2]", "pytorch/bz4/1n1g/r50_b4_fp32_1", "24.13", "images/s", "(11", "s,",
        "about", "22", "s", "left)",
    ]  # fmt: skip
    assert progress.last == "24.13 images/s"
    line = progress.end({"ending": "crashed", "reason": "node2: exit code 1"}, 5.0)
    assert "crashed: node2: exit code 1" in line
    assert (progress.done, progress.failed, progress.current) == (2, 1, "")
