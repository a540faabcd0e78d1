"""Training to a target: its length, learning rate and end, and what the reader reads of it."""

from __future__ import annotations

import os
import time
from argparse import Namespace

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts

from common import report_lines, target_training
from common.process import age
from common.target_training import TargetTraining

WHOLE = {"warmup": 0, "iterations": None}  # as the plan requests it


def options(**changes):
    return Namespace(
        **{"epochs": 3, "target_accuracy": 29.0, "batch_size": 4, "warmup": 2, **changes}
    )


def test_the_epochs_become_iterations():
    given = options()
    training = TargetTraining(given, 41, 2)
    assert (training.steps_per_epoch, training.total, given.iterations) == (5, 15, 13)
    assert training.facts["images_per_epoch"] == 40


def test_the_time_counts_from_the_start_of_the_process():
    begun = time.time() - age(os.getpid())
    assert TargetTraining(options(), 100, 2).begin == pytest.approx(begun, abs=0.5)
    assert age(os.getpid()) > 0.5, "so that this moment is another"


def test_a_clock_that_is_set_does_not_change_the_time_that_training_took(monkeypatch):
    training, now = TargetTraining(options(), 100, 2), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3600)
    assert training.evaluated(29, 100)[2] == pytest.approx(now, abs=0.5)


def test_epochs_shorter_than_the_warm_up_are_refused():
    with pytest.raises(ValueError, match="are 15 iterations, no more than --warmup 15"):
        TargetTraining(options(warmup=15), 41, 2)


def test_the_first_evaluation_at_the_target_ends_it():
    training = TargetTraining(options(), 41, 2)
    assert training.evaluated(28, 100)[:2] == (28.0, False)
    assert training.reached is None
    percent, ends, now = training.evaluated(29, 100)
    assert (percent, ends, now) == (29.0, True, training.reached)


def test_without_a_target_training_continues():
    assert TargetTraining(options(target_accuracy=None), 41, 2).evaluated(100, 100)[1] is False


def test_the_rate_rises_linearly_then_falls_to_0():
    rates = [target_training.scheduled_rate(0.3, number, 30) for number in range(1, 31)]
    assert rates[:2] == [0.15, 0.3]
    assert rates[1:] == sorted(rates[1:], reverse=True)
    assert rates[15] == pytest.approx(0.15)
    assert rates[-1] == 0.0


def log(accuracies, target, begin=1763690000.0):
    """Return the log of a training with 10 images per epoch, evaluated every 10 s."""
    training = TargetTraining(options(target_accuracy=target, warmup=0), 8, 2)
    training.begin, training.reached = begin, None
    header = {"model": "resnet50_v1.5", "world_size": 2, **training.facts}
    lines = [report_lines.header_line(header), target_training.begin_line(begin)]
    for number, correct in enumerate(accuracies):
        now = begin + 10 * (number + 1)
        lines.append(
            report_lines.iteration_line(
                number + 1, epoch=number, loss=3.0, samples=8, seconds=4.0, time=now - 1
            )
        )
        percent = target_training.accuracy(correct, 1000)
        lines.append(target_training.evaluation_line(now, percent, number + 1))
        if target is not None and percent >= target and training.reached is None:
            training.reached = now
    lines += target_training.end_lines(now + 1, training)
    lines.append(report_lines.end_line(len(accuracies), 40.0, 800.0, "9f2c", True))
    return "\n".join(lines) + "\n"


def test_the_reader_takes_time_and_accuracies_from_the_lines():
    facts = log_facts(logs.read(log([100, 290, 285], 29.0)), parameters=WHOLE)
    assert facts["reader"] == "scalebench"
    assert facts["ending"]["kind"] == "complete"
    assert facts["throughput"] == 2.0
    training = facts["time_to_train"]
    assert (training["time_to_target"], training["target_epoch"]) == (20.0, 2)
    assert (training["best_accuracy"], training["final_accuracy"]) == (29.0, 28.5)
    assert (training["epochs"], training["total_time"]) == (3, 31.0)
    assert training["end_to_end_throughput"] == pytest.approx(3 * 8 / 31)


@pytest.mark.parametrize(("correct", "percent"), [(0, 0.0), (4, 0.4), (1000, 100.0)])
def test_shares_and_percentages_are_not_confused(correct, percent):
    facts = log_facts(logs.read(log([correct], 29.0)), parameters=WHOLE)
    assert facts["time_to_train"]["best_accuracy"] == percent


def test_a_missed_target_has_no_time():
    training = log_facts(logs.read(log([100], 29.0)), parameters=WHOLE)["time_to_train"]
    assert (training["target_accuracy"], training["time_to_target"]) == (29.0, None)
