"""How far a campaign is."""

from ansible_collections.scalebench.core.plugins.module_utils.running.progress import (
    Progress,
    remaining_seconds,
)

WAVES = [
    {"repeats": [{"log": "logs/pytorch/bz4/1n1g/r50_b4_fp32_1.log"}], "seconds": 10.0},
    {"repeats": [{"log": "logs/pytorch/bz4/2n1g/r50_b4_fp32_1.log"}], "seconds": 20.0},
]


def test_the_remaining_time_is_scaled_by_that_of_ended_waves():
    assert remaining_seconds([10, 20, 30], [], 0) == 60
    assert remaining_seconds([10, 20, 30], [20], 0) == 100
    assert remaining_seconds([10, 20, 30], [20], 15) == 85
    assert remaining_seconds([10], [], 99) == 0
    assert remaining_seconds([10, 20], [], 15) == 20, "the second takes its time too"
    assert remaining_seconds([10, 0], [10], 0) is None


def test_without_estimates_the_mean_of_ended_waves_counts():
    assert remaining_seconds([0, 0, 0], [], 3) is None
    assert remaining_seconds([0, 0, 0], [8], 0) == 16


def ended(wave, **more):
    return [{"ending": "ok", **repeat, **more} for repeat in wave["repeats"]]


def test_a_repeat_that_ends_moves_the_state_and_gives_its_line():
    progress = Progress("c")
    progress.add(WAVES)
    assert progress.current == "pytorch/bz4/1n1g/r50_b4_fp32_1"
    (line,) = progress.end(ended(WAVES[0], throughput=24.126, unit="images/s"), 11.0)
    assert line.split() == [
        "[1/2]", "pytorch/bz4/1n1g/r50_b4_fp32_1", "24.13", "images/s", "(11", "s,",
        "about", "22", "s", "left)",
    ]  # fmt: skip
    assert progress.last == "24.13 images/s"
    failed = ended(WAVES[1], ending="crashed", reason="node2: exit code 1")
    (line,) = progress.end(failed, 5.0)
    assert "crashed: node2: exit code 1" in line
    assert (progress.done, progress.failed, progress.current) == (2, 1, "")


def test_repeats_of_one_wave_end_together_and_later_waves_raise_the_total():
    both = {"repeats": WAVES[0]["repeats"] + WAVES[1]["repeats"], "seconds": 20.0}
    progress = Progress("c")
    progress.add([both])
    assert progress.current == "pytorch/bz4/1n1g/r50_b4_fp32_1, pytorch/bz4/2n1g/r50_b4_fp32_1"
    lines = progress.end(ended(both, throughput=10.0, unit="images/s"), 20.0)
    assert [line.split()[0] for line in lines] == ["[1/2]", "[2/2]"]
    progress.add(WAVES[:1])
    assert (progress.total, progress.done) == (3, 2)
    assert progress.left(0) == "about 10 s left"


def test_what_takes_longer_than_estimated_is_not_about_to_end():
    progress = Progress("c")
    progress.add(WAVES[:1])
    assert progress.left(9) == "about 1 s left"
    assert progress.left(11) == "longer than estimated"
