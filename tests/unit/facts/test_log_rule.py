"""The rule for a cell's log: the cell's, the benchmark's, the user's."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_rule

CELL = {"warmup": 20, "iterations": 100}
PLANNED = {
    **CELL,
    "reading": {
        "reader": "tensorflow_ngc_train",
        "strategy": "dlperf_tensorflow",
        "parameters": {"warmup": 0, "iterations": 100},
    },
}


def test_a_cell_without_a_rule_has_the_reference_method():
    assert log_rule(CELL) == {
        "reader": "auto",
        "strategy": "mean_after_warmup",
        "parameters": {"warmup": 20, "iterations": 100},
    }


def test_the_benchmarks_rule_is_the_cells():
    assert log_rule(PLANNED) == PLANNED["reading"]


def test_the_users_rule_takes_precedence_with_the_cells_iterations():
    assert log_rule(PLANNED, "mean_after_warmup") == {
        "reader": "tensorflow_ngc_train",
        "strategy": "mean_after_warmup",
        "parameters": {"warmup": 20, "iterations": 100},
    }
    assert log_rule(PLANNED, parameters={"iterations": 50})["parameters"] == {
        "warmup": 0,
        "iterations": 50,
    }


def test_a_rule_that_knows_no_iterations_gets_none():
    assert log_rule(CELL, "last_summary")["parameters"] == {}
    with pytest.raises(ValueError, match="no strategy named 'best'"):
        log_rule(CELL, "best")
