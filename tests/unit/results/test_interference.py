"""Packed repeats against the same ones alone."""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.report.optional_sections import (
    after_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.remarks import what_happened
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign, recorded


def packed(alone, neighbours=("other.log",), **options):
    """Results of 1n1g packed and 2n1g not; ``alone``: speeds of repeats of 1n1g run again."""
    plan, _ = campaign({"1n1g": [9.0, 8.0, 10.0], "2n1g": [17.0]})
    plan["options"] = options
    one, two = plan["cells"]
    runs = [
        recorded(one, i, speed, packed_with=list(neighbours), shares_machine=i == 1)
        for i, speed in enumerate((9.0, 8.0, 10.0), 1)
    ]
    runs.append(recorded(two, 1, 17.0))
    runs += [
        recorded(
            *(one, i, speed),
            kind="alone",
            log=f"logs/1n1g/{i}_alone.log",
            ending="ok" if speed else "stalled",
            reason="" if speed else "node1: no output",
        )
        for i, speed in alone.items()
    ]
    return build_results(plan, runs)


def packing_lines(results):
    """Return the lines of the section on packing, quotations in backticks; none without it."""
    parts = [part for part in after_sections(results) if part["ident"] == "packing"]
    return [
        "".join(f"`{piece['text']}`" if piece["code"] else piece["text"] for piece in line)
        for part in parts
        for line in part["notes"][0]["lines"]
    ]


def test_interference_is_the_ratio_of_the_same_repeats():
    results = packed({1: 10.0, 2: 10.0}, packing="nodes")
    found = results["interference"]
    assert (found["n"], found["median"], found["reason"]) == (2, 0.85, "")
    (cell,) = found["cells"]
    assert (cell["topology"], cell["ratios"], cell["median"]) == ("1n1g", [0.9, 0.8], 0.85)
    assert results["packing"] == {
        "packing": "nodes",
        "repeats": 4,
        "beside_others": 3,
        "on_one_machine": 1,
    }
    assert what_happened(results) == [
        "packed: 3 of 4 repeats ran at the same time as others;"
        " interference 0.85 of the throughput alone (median of 2)"
    ]
    assert packing_lines(results)[-1] == "pytorch fp32 bz4 1n1g: 0.900, 0.800"


def test_nothing_measured_is_said():
    results = packed({}, packing="nodes")
    assert results["interference"]["n"] == 0
    assert results["interference"]["median"] is None
    assert "nothing measured" in what_happened(results)[0]
    assert "nothing measured" in packing_lines(results)[-1]


def test_a_failed_repeat_alone_makes_no_pair_and_is_named():
    results = packed({1: None, 2: 10.0}, packing="nodes")
    assert results["interference"]["n"] == 1
    assert any("stalled: `node1: no output`" in line for line in packing_lines(results))


def test_a_repeat_that_nothing_ran_beside_makes_no_pair():
    results = packed({1: 10.0}, neighbours=(), packing="nodes")
    assert results["interference"]["n"] == 0
    assert what_happened(results) == []


def test_packed_nodes_that_are_one_machine_are_named():
    results = packed({}, packing="nodes")
    results["provenance"]["nodes"] = {
        name: {"machine_id": "m" if name != "c" else "x"} for name in "abc"
    }
    assert packing_lines(results)[1] == "1 of them had neighbours on the same machine: a, b are one"


def test_only_repeats_that_ran_are_counted():
    plan, _ = campaign({"1n1g": [9.0, 9.0]})
    one = plan["cells"][0]
    plan["options"] = {"packing": "nodes"}
    skipped = recorded(one, 2, None, ending="skipped", reason="out of memory at 2")
    results = build_results(plan, [recorded(one, 1, 9.0, packed_with=["b.log"]), skipped])
    assert results["packing"]["repeats"] == 1


def test_an_exclusive_campaign_says_nothing_of_packing():
    assert packing_lines(packed({}, neighbours=())) == []
