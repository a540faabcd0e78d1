"""Floors of bus bandwidth by fabric and size, in gates and acceptances."""

from __future__ import annotations

import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.judge import (
    judge_acceptance,
)
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.promises import (
    check_acceptance,
)
from ansible_collections.scalebench.core.plugins.module_utils.acceptance.undecidable import (
    undecidable,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    check_gate,
    judge_gate,
    rule_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from collective_data import results_of
from report_data import campaign

MIB = 1 << 20
# Of 2n1g with 300 us and 500 MB/s the bus has 437.4 MB/s at 1 MiB and 495.6 at 16 MiB, +- 2 %.
RESULTS = results_of(topologies=["2n1g"])


def judged(floors, results=RESULTS, **options):
    """Return the verdict on the one rule of a gate."""
    (rule,) = judge_gate(
        results, check_gate({"rules": [{"min_busbw": floors, **options}]}, False), "g"
    )["rules"]
    return rule


def over(ways, results=RESULTS):
    """Return the results as if NCCL had told these ways."""
    changed = json.loads(json.dumps(results))
    for cell in changed["cells"]:
        for repeat in cell["repeats"]:
            repeat["transport"] = ways
    return changed


@pytest.mark.parametrize(
    ("floors", "verdict", "words"),
    [
        ({"gloo": {MIB: 400}}, "passed", "2 cell(s), worst all_reduce fp32 bz1-opall_reduce-bytes"),
        ({"gloo": {MIB: 400, 16 * MIB: 456}}, "passed", "floor 456 MB/s over gloo"),
        ({"gloo": {MIB: 400, 16 * MIB: 600}}, "broken", "bytes16777216 2n1g: bus bandwidth 495.6"),
        ({"gloo": {MIB: 437}}, "undecided", "do not show on which side of 437 it is"),
        # The smallest messages take their latency: a bare number holds for them too.
        ({"gloo": 400}, "broken", "bytes1024 2n1g"),
        ({"gloo": {1 << 30: 400}}, "undecided", "no cell is selected"),
        ({"NET/IB*": {MIB: 1}}, "undecided", "went over gloo, and there are floors for NET/IB*"),
    ],
)
def test_a_gate_tests_the_floor_of_the_fabric_and_the_size(floors, verdict, words):
    rule = judged(floors)
    assert rule["verdict"] == verdict
    assert words in rule["detail"]


def test_what_was_not_measured_fails_the_gate_and_noise_does_not():
    assert not judged({"NET/IB*": {MIB: 1}})["ok"]
    assert judged({"gloo": {MIB: 437}})["ok"]
    assert not judged({"gloo": {MIB: 437}}, undecided="fail")["ok"]


def test_the_way_between_the_nodes_decides_not_that_within_them():
    floors = {"P2P*": {MIB: 9999}, "NET/IB*": {MIB: 400}, "NET/Socket": {MIB: 40}}
    assert judged(floors, over(["NET/IB/GDRDMA", "P2P/IPC"]))["verdict"] == "passed"
    assert "floor 40 MB/s over NET/Socket" in judged(floors, over(["NET/Socket"]))["detail"]
    # A node that fell back to TCP slows all: the floor of InfiniBand stays.
    both = judged({**floors, "NET/IB*": {MIB: 9000}}, over(["NET/IB/0", "NET/Socket"]))
    assert both["verdict"] == "broken"
    alone = results_of(topologies=["1n4g"])
    assert "over P2P/IPC, SHM" in judged(floors, over(["P2P/IPC", "SHM"], alone))["detail"]


def test_trainings_of_the_campaign_are_left_out():
    training = build_results(*campaign({"2n1g": [1.0, 1.1, 1.2]}))
    assert judged({"gloo": 1}, training)["detail"] == "no cell is selected"


def test_a_rule_in_words():
    (rule,) = check_gate({"rules": [{"min_busbw": {"NET/IB*": {"1024": 5, MIB: 2000}}}]}, False)
    assert rule["value"] == {"NET/IB*": {"1024": 5, "1048576": 2000}}
    assert rule_text(rule) == (
        "min_busbw: NET/IB*: 5 MB/s from 1024 bytes, 2000 MB/s from 1048576 bytes"
    )


@pytest.mark.parametrize(
    ("floors", "words"),
    [
        ({}, "is not a table of floors"),
        ({3: 5}, "3 is not the name of a fabric"),
        ({"gloo": {}}, "gloo: no floor"),
        ({"gloo": {"1MiB": 5}}, "gloo: '1MiB' is not a size in bytes"),
        ({"gloo": {True: 5}}, "gloo: True is not a size"),
        ({"gloo": {-1: 5}}, "gloo: -1 is not a size"),
        ({"gloo": 0}, "gloo: 0 is not a number of MB/s above 0"),
        ({"gloo": "fast"}, "gloo: 'fast' is not a number"),
        ({"gloo": float("inf")}, "gloo: inf is not a number"),
    ],
)
def test_what_is_wrong_in_a_table_is_named(floors, words):
    with pytest.raises(ValueError, match="rule 1: min_busbw") as error:
        check_gate({"rules": [{"min_busbw": floors}]}, False)
    assert words in str(error.value)


def accepted(floors, results=RESULTS):
    """Return the rows of an acceptance of one line on bus bandwidth, by the size of the cell."""
    content = {"about": "x", "campaign": {}, "lines": [{"min_busbw": floors}]}
    # As acceptance.json keeps it.
    promises = check_acceptance(json.loads(json.dumps(content)))
    rows = judge_acceptance(results, promises, "a")["lines"]
    return {row["of"].split("bytes")[-1]: row for row in rows if "min_busbw" in row["line"]}


def test_an_acceptance_promises_it():
    rows = accepted({"gloo": {MIB: 400, 16 * MIB: 600}})
    assert {of: row["verdict"] for of, row in rows.items()} == {
        "1048576 2n1g": "pass",
        "16777216 2n1g": "fail",
    }
    row = rows["1048576 2n1g"]
    assert row["low"] < row["measured"] == 437.43 < row["high"]
    assert row["detail"] == "3 repeats, floor 400 MB/s over gloo"
    other = accepted({"NET/IB*": {MIB: 400}})["1048576 2n1g"]
    assert (other["verdict"], "went over gloo" in other["detail"]) == ("undecided", True)


def test_the_plan_says_what_it_cannot_decide():
    content = {"about": "x", "campaign": {}, "lines": [{"min_busbw": {"gloo": {1 << 30: 400}}}]}
    planned = [{**cell, "repeats": 3} for cell in RESULTS["cells"]]
    (line, *_) = undecidable(check_acceptance(content), planned, {}, 0.0, True)
    assert "no cell of the campaign is selected" in line
    content["lines"] = [{"min_busbw": {"gloo": {MIB: 400}}}]
    assert not undecidable(check_acceptance(content), planned, {}, 0.0, True)
