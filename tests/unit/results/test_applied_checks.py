"""The method section names only rules that something was held against."""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.report.provenance import method
from ansible_collections.scalebench.core.plugins.module_utils.results import checks
from ansible_collections.scalebench.core.plugins.module_utils.results.checks import (
    applied_checks,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.running import invariants
from report_data import campaign


def test_records_of_the_first_schema_were_not_checked():
    assert applied_checks([{"schema": 1}, {}], [])["invalid_repeat"] == {}
    found = applied_checks([{"schema": 1}, {"schema": 2}], [])["invalid_repeat"]
    assert list(found) == list(invariants.RULES)
    assert found["ranks"] == invariants.RULES["ranks"]["about"]


def test_cells_are_held_against_those_that_differ():
    one = {"topology": "1n1g", "precision": "fp32", "data": "real", "data_backend": "native"}
    assert applied_checks([], [one])["warning"] == {}
    assert list(applied_checks([], [one, {**one, "precision": "amp"}])["warning"]) == [
        "amp_not_slower"
    ]
    found = applied_checks([], [one, {**one, "topology": "2n1g"}])
    assert list(found["invalid_cell"]) == ["speedup_at_most_ideal"]
    assert list(found["warning"]) == ["more_devices_not_slower", "efficiency_not_growing"]
    told = {**one, "topology": "2n1g", "transport": "NET/IB"}
    assert list(applied_checks([], [told])["warning"]) == ["transport_told"]
    every = {**told, "precision": "amp", "data": "x", "data_backend": "dali"}
    found = applied_checks([], [one, every])
    assert {*found["invalid_cell"], *found["warning"]} == set(checks.RULES)


def test_the_report_tells_the_checks_that_were_made():
    text = " ".join(method(build_results(*campaign({"1n1g": [1.0]}))))
    assert "check" not in text
    speeds = {"1n1g": [1.0], "2n1g": [1.9]}
    text = " ".join(method(build_results(*campaign(speeds))))
    assert "check that makes a speed-up invalid if it fails: The speed-up is at most" in text
    assert "invalid_repeat" not in text
