"""What ranks wait for each other, measured by the trainers and read up to the report's sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.results.stragglers import waited_for
from torch_trainers import FOLDER, facts, interpreter

BERT = ("transformer/train_bert.py", "--sequence-length=32", "--batch-size=1")
RESNET = ("resnet50/train_pytorch.py", "--batch-size=2")


def waits_of(trainer, iterations, disturb=None, **variables):
    """Train with two ranks; return their waits as the run's record has them, and the output.

    :param disturb: called for each line with it and the process id by rank, while they train.
    """
    if not interpreter():
        pytest.skip("no torch: set SCALEBENCH_FRAMEWORK_PYTHON or run playbooks/provision.yml")
    command = [interpreter(), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += [*trainer, "--device=cpu", "--warmup=2", f"--iterations={iterations}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", **variables}
    pids, lines = {}, []
    with subprocess.Popen(
        command,
        cwd=FOLDER,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as job:
        for line in job.stdout:
            lines.append(line)
            if line.startswith("[scalebench] rank "):
                known = facts(line, "rank")
                pids[known["rank"]] = known["pid"]
            if disturb:
                disturb(line, pids)
    text = "".join(lines)
    assert job.returncode == 0, text[-2000:]
    read = log_facts(logs.read(text), parameters={"warmup": 2, "iterations": iterations})
    assert read["count"] == iterations
    return read.get("waits"), text


class Slowed:
    """Stops a rank for part of the time, from an iteration on: another process on its core."""

    def __init__(self, rank, since, stopped, running):
        self.rank, self.since = rank, f"iteration {since} "
        self.stopped, self.running = stopped, running
        self.done, self.thread = threading.Event(), None

    def __call__(self, line, pids):
        if line.startswith(self.since):
            self.thread = threading.Thread(target=self._hold_back, args=(pids[self.rank],))
            self.thread.start()
        if line.startswith("[scalebench] waits ") and not self.done.is_set():
            self.done.set()
            self.thread.join()

    def _hold_back(self, pid):
        while not self.done.is_set():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self.stopped)
            os.kill(pid, signal.SIGCONT)
            time.sleep(self.running)


def test_the_rank_that_is_held_back_is_named_with_its_first_step():
    """One of two ranks is stopped half of the time, from step 20 of 80 on."""
    waits, _ = waits_of(BERT, 78, Slowed(1, 20, stopped=0.06, running=0.06))
    assert [one["rank"] for one in waits] == [0, 1]
    found = waited_for(waits)
    assert found is not None, waits
    assert found["rank"] == 1
    assert 11 <= found["since"] <= 29
    assert found["share"] > 0.1


SLOW_BACKWARD = """
import os, time
from common.figures import FirstStep
from common.process import end_now
from transformer import bert, train_bert
forward = bert.EncoderBlock.forward
def slow(self, x):
    result = forward(self, x)
    if os.environ["RANK"] == "1":
        result.register_hook(lambda gradient: time.sleep(0.2))
    return result
bert.EncoderBlock.forward = slow
end_now(train_bert.main(FirstStep()))
"""


def test_what_a_rank_computes_itself_is_no_wait(tmp_path):
    """Rank 1 sleeps 0.2 s in the backward pass of each of two blocks; rank 0 waits for it."""
    (tmp_path / "slow.py").write_text(SLOW_BACKWARD)
    waits, _ = waits_of((str(tmp_path / "slow.py"), *BERT[1:]), 4, PYTHONPATH=str(FOLDER))
    first, second = (sum(one["wait_seconds"][1:]) / 5 for one in waits)
    assert first - second > 0.2


def test_every_rank_prints_its_own_waits_and_the_first_one_all(tmp_path):
    waits, text = waits_of(RESNET, 28)
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
