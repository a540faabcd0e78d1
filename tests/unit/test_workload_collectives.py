"""The program that times collective operations: its results, its lines, and what it refuses."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from ansible_collections.scalebench.core.plugins.module_utils.logs.nccl_tests import BUSBW_FACTORS
from torch_trainers import facts, fork, run

from collectives import timed
from collectives.definitions import COLLECTIVES, elements, operation_line
from common.ranks import Place

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks/all_reduce.yml"
PROGRAM = "collectives/measure.py"
RANKS = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=3")
SHORT = ("--device=cpu", "--bytes=4096", "--warmup=1", "--iterations=2")


def test_trainer_readers_and_benchmark_know_the_same_operations():
    recipes = yaml.safe_load(BENCHMARK.read_text())["recipes"]
    for recipe in recipes.values():
        assert recipe["choices"]["collective"] == [*COLLECTIVES]
    for ranks in (2, 3, 8):
        assert {name: factor(ranks) for name, factor in BUSBW_FACTORS.items()} == {
            name: one.busbw_factor(ranks) for name, one in COLLECTIVES.items()
        }


@pytest.mark.parametrize("name", COLLECTIVES)
def test_the_results_of_three_ranks_are_right_and_the_log_is_read(name):
    ended = fork(PROGRAM, *SHORT, f"--collective={name}", ranks=3)
    assert ended.returncode == 0, ended.stderr
    header = facts(ended.stdout, "header")
    assert header["own_factors"] == {"collective": name, "message_bytes": 4096}
    found = facts_of_text(ended.stdout, "harmonic_mean", {"warmup": 1, "iterations": 2})
    assert (found["reader"], found["unit"], found["steps"]) == ("collective", "MB/s", 2)
    assert found["ending"]["kind"] == "complete"
    lines = re.findall(r"bytes (\d+) duration (\S+) us", ended.stdout)
    size = 4092 if COLLECTIVES[name].divided else 4096
    assert {int(moved) for moved, _ in lines} == {size}
    # Bytes per us are MB/s; durations are printed to 0.1 us.
    by_hand = size * 2 / sum(float(us) for _, us in lines[1:]) * COLLECTIVES[name].busbw_factor(3)
    assert found["throughput"] == pytest.approx(by_hand, rel=0.01, abs=0.01)


def test_a_wrong_result_ends_the_job_and_is_counted(python, tmp_path):
    # Rank 1 alters what it sends after the buffers are filled.
    (tmp_path / "faulty.py").write_text(
        "import os, sys\n"
        "sys.path.insert(0, os.getcwd())\n"
        "from collectives import operations\n"
        "fill = operations.Operation.fill\n"
        "def faulty(self):\n"
        "    fill(self)\n"
        "    self.buffer[7] += self.place.rank == 1\n"
        "operations.Operation.fill = faulty\n"
        "from collectives import measure\n"
        "sys.exit(measure.main())\n"
    )
    ended = run([python, *RANKS, str(tmp_path / "faulty.py"), *SHORT])
    assert ended.returncode != 0
    error = facts(ended.stdout, "error")
    assert (error["kind"], error["detail"]) == (
        "wrong_result",
        "wrong elements by rank, of 1024: 1, 1, 1",
    )


def test_a_single_rank_is_refused():
    ended = fork(PROGRAM, *SHORT)
    assert (ended.returncode, "two ranks at least" in ended.stderr) == (2, True)


def test_bus_bandwidth_is_that_of_nccl_tests():
    factors = {name: collective.busbw_factor(4) for name, collective in COLLECTIVES.items()}
    assert factors == {
        "all_reduce": 1.5,
        "all_gather": 0.75,
        "reduce_scatter": 0.75,
        "broadcast": 1.0,
        "sendrecv": 1.0,
    }
    assert operation_line("all_reduce", 1, 1_000_000, 4, 0.001, 5.0) == (
        "all_reduce 1 bytes 1000000 duration 1000.0 us algbw 1000.0000 MB/s busbw 1500.0000 MB/s"
        " time 5.000000"
    )


def test_a_message_without_an_element_for_each_rank_is_refused():
    assert elements("all_gather", 1024, 3) == 255
    with pytest.raises(ValueError, match=r"8 bytes are less than 12, .* for each of 3 ranks"):
        elements("all_gather", 8, 3)


class FakeOperation:
    """Stands in for a collective: it does nothing, and counts its checks."""

    expected, checks = [0.0] * 4, 0

    def run(self):
        """Do nothing."""

    fill = run

    def wrong(self):
        self.checks += 1
        return 0


class FakeLibrary:
    """Stands in for a library with two ranks, of which the other one takes three times as long."""

    place = Place(0, 2, 0, 1)

    def __init__(self):
        self.made = FakeOperation()

    def header(self, _options, _own):
        return {"world_size": 2}

    def operation(self, _name, _count):
        return self.made

    def gather(self, value):
        return [[1.0] * len(value), [3.0] * len(value)] if isinstance(value, list) else [value] * 2

    def synchronise(self):
        """Do nothing."""

    leave = synchronise

    def peak_memory(self):
        return 1.0


def test_every_operation_of_the_warm_up_and_one_after_the_measured_are_checked(monkeypatch):
    library, said = FakeLibrary(), []
    monkeypatch.setattr(timed, "put", said.append)
    monkeypatch.setattr(timed, "begin_job", lambda *_: None)
    given = {"collective": "all_reduce", "bytes": 4096, "warmup": 2, "iterations": 3}
    timed.measure(Namespace(**given), library)
    assert library.made.checks == 3
    # The mean over the ranks.
    durations = re.findall(r"duration (\S+) us", "\n".join(said))
    assert [float(one) for one in durations] == [2e6] * 5
