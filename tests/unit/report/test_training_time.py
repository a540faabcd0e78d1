"""Trainings to a target in the report: reached, missed, some of each."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.published.conditions import (
    cell_conditions,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.optional_sections import (
    before_sections,
    training_times,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.text import terminal_table
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign


def trained(*times: float | None, target: float | None = 60.0) -> tuple[Any, Any]:
    """Return plan and runs of one cell whose repeats took so many seconds to the target."""
    plan, runs = campaign({"1n1g": [40.0] * len(times)})
    for run, seconds in zip(runs, times, strict=True):
        run["facts"]["time_to_train"] = {
            "total_time": 130.0,
            "time_to_target": seconds,
            "target_accuracy": target,
            "target_epoch": None if seconds is None else 3,
            "best_accuracy": 55.5 if seconds is None else 61.25,
            "best_epoch": 3,
            "final_accuracy": 55.5,
            "evaluations": 3,
            "epochs": 3,
            "end_to_end_throughput": 30.5,
        }
    return plan, runs


def results(*times: float | None, **options: float | None) -> dict[str, Any]:
    """Return the results of :func:`trained`."""
    return build_results(*trained(*times, **options))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ((120.0,), "60 % top-1 after 120.0 s; best 61.25 %."),
        ((120.0, 100.0, 140.0), "60 % top-1 after 120.0 s (median of 3); best 61.25 %."),
        ((None,), "60 % top-1 was not reached; best 55.5 %."),
        ((90.0, None), "after 90.0 s; 1 of 2 repeats did not reach it; best 61.25 %."),
    ],
)
def test_the_outcome_of_a_cell_is_a_sentence(times, said):
    (sentence,) = training_times(results(*times))
    assert sentence.startswith("pytorch fp32 bz4 1n1g: ")
    assert sentence.endswith(said)
    assert sentence.split(":")[0] in terminal_table(results(*times))


def test_the_table_has_a_row_for_each_repeat():
    (section,) = before_sections(results(90.0, None))
    assert section["title"] == "Time to train"
    names = [column["name"] for column in section["tables"][0]["columns"]]
    rows = [
        dict(zip(names, [cell["value"] for cell in row], strict=True))
        for row in section["tables"][0]["rows"]
    ]
    assert [row["time to train s"] for row in rows] == [90.0, None]
    assert (rows[0]["throughput"], rows[0]["end to end"]) == (40.0, 30.5)


def test_evaluations_without_a_target_are_a_row_and_no_sentence():
    assert training_times(results(None, target=None)) == []
    assert len(before_sections(results(None, target=None))) == 1


def test_a_campaign_without_evaluations_says_nothing_of_them():
    assert before_sections(build_results(*campaign({"1n1g": [40.0]}))) == []


def test_a_training_without_a_result_tells_no_time():
    plan, runs = trained(50.0, 60.0, 5.0)
    runs[2].update(ending="wrong_transport", reason="TCP")
    runs[2]["facts"]["time_to_train"]["best_accuracy"] = 99.0
    runs[2]["facts"]["wall_clock_throughput"] = 500.0
    made = build_results(plan, runs)
    (sentence,) = training_times(made)
    assert sentence.endswith("60 % top-1 after 55.0 s (median of 2); best 61.25 %.")
    assert made["cells"][0]["wall_clock_throughput"] == pytest.approx(39.6)
    cell = cell_conditions(made["cells"][0], made)
    assert (cell["time_to_train_seconds"], cell["accuracy_top1"]) == (55.0, 61.25)


def test_no_time_to_train_is_compared_where_one_training_missed_its_target():
    made = results(90.0, None)
    assert cell_conditions(made["cells"][0], made)["time_to_train_seconds"] is None
