"""Times and accuracies of a log with evaluations, by the definitions that the function states."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.module_utils.facts.time_to_train import (
    time_to_train,
)

FIXTURES = Path(__file__).parents[2] / "fixtures" / "logs"


def found(name, **given):
    reading = logs.read((FIXTURES / name).read_bytes())
    return time_to_train(reading, reading["runs"][-1], **given)


def test_nvidia_pytorch_with_validation():
    assert found("pytorch_ngc_with_validation.log", target_accuracy=76.1) == {
        "total_time": 128.4,
        "time_to_target": 85.6,
        "target_accuracy": 76.1,
        "target_epoch": 1,
        "best_accuracy": 76.2,
        "best_epoch": 1,
        "final_accuracy": 75.9,
        "evaluations": 3,
        "epochs": 3,
        "end_to_end_throughput": 3 * 2_048_000 / 128.4,
    }


def test_a_target_that_is_not_reached_has_no_time():
    result = found("pytorch_ngc_with_validation.log", target_accuracy=77.0)
    assert (result["time_to_target"], result["target_epoch"]) == (None, None)
    assert result["best_accuracy"] == 76.2


def test_ai_rank_says_its_own_times_and_shares_become_percent():
    result = found("ai_rank.log")
    assert (result["total_time"], result["time_to_target"]) == (12.03, 8.03)
    assert result["best_accuracy"] == pytest.approx(76.054)
    assert result["epochs"] == 12
    assert found("ai_rank.log", target_accuracy=47.0)["time_to_target"] == 4.0


def test_end_to_end_needs_the_images_of_an_epoch():
    assert found("ai_rank.log")["end_to_end_throughput"] is None
    result = found("ai_rank.log", images_per_epoch=1000)
    assert result["end_to_end_throughput"] == pytest.approx(12_000 / 12.03)


def test_tensorflow_evaluates_once_at_the_end():
    """The trainer of reference effort 001 trains all epochs first: every target takes as long."""
    for target in (75.9, 76.1):
        result = found("tensorflow_time_to_train.log", target_accuracy=target)
        assert (result["time_to_target"], result["target_accuracy"]) == (44.059, target)
    assert result["best_accuracy"] == pytest.approx(76.97)
    assert (result["total_time"], result["epochs"], result["evaluations"]) == (44.059, 9, 1)
    assert result["end_to_end_throughput"] == pytest.approx(9 * 5120 / 44.059)


def test_a_log_without_evaluations_has_none():
    assert found("oneflow.log") is None
    facts = log_facts(logs.read((FIXTURES / "oneflow.log").read_bytes()), "auto")
    assert (facts["time_to_train"], facts["accuracy"]) == (None, None)


def test_facts_carry_the_best_accuracy():
    reading = logs.read((FIXTURES / "pytorch_ngc_with_validation.log").read_bytes())
    facts = log_facts(reading, "last_summary", target_accuracy=76.0)
    assert facts["accuracy"] == 76.2
    assert facts["time_to_train"]["time_to_target"] == 85.6
