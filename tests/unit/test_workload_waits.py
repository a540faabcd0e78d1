"""What ranks wait for each other, measured by the trainers and read up to the report's sentence."""

from __future__ import annotations

import time
from functools import partial

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.results.stragglers import waited_for
from torch_trainers import FOLDER, facts, fork

from common.ranks import Place
from common.waits import Waits, seconds_without_core

BERT = ("transformer/train_bert.py", "--sequence-length=32", "--batch-size=1")
RESNET = ("resnet50/train_pytorch.py", "--batch-size=2")


def waits_of(trainer, iterations, **variables):
    """Train with two ranks; return their waits as the run's record has them, and the output."""
    words = ("--device=cpu", "--warmup=2", f"--iterations={iterations}")
    job = fork(*trainer, *words, ranks=2, **variables)
    text = job.stdout
    assert job.returncode == 0, text[-2000:]
    read = log_facts(logs.read(text), parameters={"warmup": 2, "iterations": iterations})
    assert read["count"] == iterations
    return read.get("waits"), text


SLOW_RANK = """
import os, time
from common.figures import FirstStep
from common.process import end_now
from transformer import bert, train_bert
forward, calls = bert.EncoderBlock.forward, []
def slow(self, x):
    result = forward(self, x)
    calls.append(self)
    # Two blocks a step.
    if os.environ["RANK"] == "1" and len(calls) >= 2 * int(os.environ["SINCE"]) - 1:
        SLEEP
    return result
bert.EncoderBlock.forward = slow
end_now(train_bert.main(FirstStep()))
"""


def slow_rank(folder, sleep, since):
    """Return the trainer, whose rank 1 sleeps at each of two blocks from a step on."""
    (folder / "slow.py").write_text(SLOW_RANK.replace("SLEEP", sleep))
    variables = {"PYTHONPATH": str(FOLDER), "SINCE": str(since)}
    return (str(folder / "slow.py"), *BERT[1:]), variables


def test_the_rank_that_is_held_back_is_named_with_its_first_step(tmp_path):
    """One of two ranks needs 0.2 s more from step 20 of 80 on."""
    trainer, variables = slow_rank(tmp_path, "time.sleep(0.1)", since=20)
    waits, _ = waits_of(trainer, 78, **variables)
    assert [one["rank"] for one in waits] == [0, 1]
    found = waited_for(waits)
    assert found is not None, waits
    assert found["rank"] == 1
    assert 11 <= found["since"] <= 29
    assert found["share"] > 0.1


def test_what_a_rank_computes_itself_is_no_wait(tmp_path):
    """Rank 1 sleeps 0.5 s in the backward pass of each of two blocks; rank 0 waits for it."""
    hook = "result.register_hook(lambda gradient: time.sleep(0.5))"
    trainer, variables = slow_rank(tmp_path, hook, since=1)
    waits, _ = waits_of(trainer, 4, **variables)
    first, second = (sum(one["wait_seconds"][1:]) / 5 for one in waits)
    assert first - second > 0.2


def test_every_rank_prints_its_own_waits_and_the_first_one_all(tmp_path):
    waits, text = waits_of(BERT, 28)
    assert [(one["every"], len(one["wait_seconds"])) for one in waits] == [(1, 30), (1, 30)]
    times = [float(line.split()[-4]) for line in text.splitlines() if " step_time " in line]
    for one in waits:
        assert one["step_seconds"] == pytest.approx(sorted(times)[15], rel=0.3)
        assert (
            min(one["wait_seconds"]) > 0 and sorted(one["wait_seconds"])[15] < one["step_seconds"]
        )
    lines = [line for line in text.splitlines() if line.startswith("[scalebench] waiting ")]
    found = sorted(
        (facts(line, "waiting")["rank"], facts(line, "waiting")["steps"]) for line in lines
    )
    assert found == [(rank, steps) for rank in (0, 1) for steps in (10, 20, 30)]


def test_sharded_ranks_measure_none():
    waits, text = waits_of((*BERT, "--sharding=fsdp"), 2)
    assert waits is None
    assert "[scalebench] wait" not in text


SLOW_FEED = """
import os, sys, time
from common.process import end_now
from resnet50 import pytorch_data, train_pytorch
synthetic = pytorch_data.synthetic
def slow(*options):
    for number, batch in enumerate(synthetic(*options)):
        # Not the first, which is made before the clock starts.
        if number and os.environ.get("RANK") == "1":
            time.sleep(0.2)
        yield batch
pytorch_data.synthetic = slow
end_now(train_pytorch.main())
"""


def test_the_rank_that_waits_for_its_batches_says_so(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW_FEED)
    trainer = (str(tmp_path / "slow.py"), *RESNET[1:])
    waits, _ = waits_of(trainer, 4, PYTHONPATH=str(FOLDER))
    assert [(one["every"], len(one["wait_seconds"])) for one in waits] == [(1, 6), (1, 6)]
    first, second = waits
    assert min(*first["wait_seconds"], *second["wait_seconds"]) > 0
    assert 0.2 <= second["input_seconds"] < second["step_seconds"]
    assert 0 < first["input_seconds"] < second["input_seconds"] / 2
    # What it waits is no wait at the exchange: the other one waits there.
    assert sum(first["wait_seconds"]) - sum(second["wait_seconds"]) > 4 * 0.1


def test_the_wait_for_a_core_is_the_second_figure_of_schedstat_in_ns(monkeypatch, tmp_path):
    (tmp_path / "schedstat").write_text("1000000000 4500000000 7\n")
    given = partial(open, tmp_path / "schedstat")
    monkeypatch.setattr("common.waits.open", lambda path, **how: given(**how), raising=False)
    assert seconds_without_core() == 4.5


def test_what_follows_the_last_step_is_no_part_of_the_wait_for_a_core(monkeypatch):
    figures = iter([1.0, 1.5, 3.0, 99.0])
    monkeypatch.setattr("common.waits.seconds_without_core", lambda: next(figures))
    waits = Waits(Place(), 2)
    waits.end_step()
    waits.end_step()
    assert waits.facts()["core_wait_seconds"] == 1.0


def test_one_rank_states_its_input_and_no_exchange():
    def feed():
        yield "first"
        time.sleep(0.05)
        yield "second"

    batches = feed()
    waits = Waits(Place(), 2)
    assert next(batches) == "first"
    assert waits.take(batches) == "second"
    waits.end_step()
    waits.end_step()
    found = waits.facts()
    assert (found["rank"], found["wait_seconds"], found["every"]) == (0, [], 1)
    # Of one batch: nothing is taken in the last step.
    assert 0.05 <= found["input_seconds"] < 5
    assert found["core_wait_seconds"] >= 0
    assert "core_wait_seconds" not in done(Waits(Place(), 2, computes=False))
    assert done(Waits(Place(), 2, measured=False)) is None


def done(waits):
    waits.end_step()
    return waits.facts()


def test_moments_of_a_framework_are_its_waits():
    waits = Waits(Place(0, 2, 0, 1), 1)
    waits.reach()
    time.sleep(0.05)
    waits.leave()
    assert 0.05 <= done(waits)["wait_seconds"][0] < 5
