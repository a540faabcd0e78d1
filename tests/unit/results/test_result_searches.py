"""Searches for the largest batch size in the results, over real plans and their probes."""

from __future__ import annotations

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.report.optional_sections import (
    after_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.remarks import what_happened
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.running import search
from campaign_data import benchmarks, cluster
from report_data import recorded


def planned(**given):
    options = parse_options({"topology": "1n1g,2n1g", "batch_size_per_device": "max", **given})
    made = plan.build(benchmarks(), options, cluster(2))
    return {**made, "campaign": "mine", "nodes": {}}


def searched(cells, ending_of, stop=1000, **changes):
    """Run the search on paper: every probe ends as ``ending_of`` says of its batch size."""
    (group,) = search.groups(cells)
    endings, runs = {}, []
    probe = search.next_probe(group, endings)
    while probe and len(runs) < stop:
        batch = probe["cell"]["batch_size_per_device"]
        endings[batch] = ending_of(batch)
        known = {"log": probe["log"], "kind": "search", "ending": endings[batch], **changes}
        if endings[batch] != "ok":
            known["reason"] = "node2: std::bad_alloc"
        made = recorded(probe["cell"], 1, 1.0 if endings[batch] == "ok" else None, **known)
        runs.append({**made, "recorded": f"2026-11-21T06:{len(runs):02}"})
        probe = search.next_probe(group, endings)
    return runs


def below(limit):
    return lambda batch: "ok" if batch <= limit else "out_of_memory"


def search_lines(results):
    """Return the lines of each search in the report, quotations in backticks."""
    (part,) = after_sections(results)
    return [
        [
            "".join(f"`{piece['text']}`" if piece["code"] else piece["text"] for piece in line)
            for line in note["lines"]
        ]
        for note in part["notes"]
    ]


def test_a_search_runs_on_the_most_devices_whatever_the_number_of_nodes():
    (group,) = search.groups(planned()["cells"])
    sizes = ((1, 4), (2, 1))
    cells = [
        {**cell, "nodes": nodes, "devices_per_node": each}
        for cell, (nodes, each) in zip(group, sizes, strict=True)
    ]
    assert search.next_probe(cells, {})["cell"]["devices_per_node"] == 4


def test_cells_get_the_batch_size_that_was_found():
    made = planned()
    results = build_results(made, searched(made["cells"], below(40), memory_mib=4096))
    (found,) = results["searches"]
    assert (found["largest"], found["reason"]) == (40, "")
    assert found["topologies"] == ["1n1g", "2n1g"]
    assert found["tried_on"] == "2n1g"
    assert [cell["batch_size_per_device"] for cell in results["cells"]] == [40, 40]
    assert {cell["variant"] for cell in results["cells"]} == {"bz40"}
    assert results["failures"] == [], "memory that is exhausted is the answer, no failure"
    tried = {one["batch_size_per_device"]: one["ending"] for one in found["tried"]}
    assert (tried[40], tried[41]) == ("ok", "out_of_memory")
    assert list(tried)[:2] == [2, 4], "in the order that it was tried"
    (lines,) = search_lines(results)
    assert lines[0] == (
        "The largest batch size per device that runs is 40, with at most 4096 MiB a process."
        " It was searched on 2n1g and is used for every topology."
    )
    assert lines[1].startswith("ok: 2, 4, 8, 16, 32")
    assert "64: out_of_memory: `node2: std::bad_alloc`" in lines
    assert what_happened(results) == [
        "pytorch fp32: the largest batch size per device that runs: 40"
    ]


def test_repeats_of_the_found_size_belong_to_its_cells():
    made = planned(repeats=1)
    cells = [search.concrete(cell, 40) for cell in made["cells"]]
    runs = [recorded(cells[0], 1, 10.0), recorded(cells[1], 1, 19.0)]
    results = build_results(made, [*searched(made["cells"], below(40)), *runs])
    assert [cell["median_speed"] for cell in results["cells"]] == [10.0, 19.0]
    assert results["counts"]["not_run"] == 0


def test_a_search_that_has_not_ended_leaves_its_cells_not_run():
    made = planned()
    results = build_results(made, searched(made["cells"], below(40), stop=2))
    (found,) = results["searches"]
    assert found["largest"] is None
    assert found["reason"] == "the search for the largest batch has not ended: 8 is next"
    assert [cell["batch_size_per_device"] for cell in results["cells"]] == ["max", "max"]
    assert {cell["state"] for cell in results["cells"]} == {"not_run"}
    assert results["failures"] == []
    (lines,) = search_lines(results)
    assert lines[0] == "The search for the largest batch has not ended: 8 is next."


@pytest.mark.parametrize(
    ("ending_of", "reason", "failed"),
    [
        (lambda batch: "ok" if batch < 16 else "crashed", "crashed at 16", "crashed"),
        (lambda batch: "out_of_memory", "a batch of 1 is too large", "out_of_memory"),
    ],
)
def test_a_search_without_an_answer_fails_the_campaign(ending_of, reason, failed):
    made = planned()
    results = build_results(made, searched(made["cells"], ending_of))
    assert results["searches"][0]["reason"].endswith(reason)
    (failure,) = results["failures"]
    assert failure["ending"] == failed
    assert failure["log"].endswith("_search.log")
    assert failure["reason"] == "node2: std::bad_alloc"


def test_a_probe_whose_record_gives_no_reason_says_so():
    made = planned()
    runs = searched(made["cells"], lambda batch: "out_of_memory")
    results = build_results(made, [{**run, "reason": ""} for run in runs])
    assert {one["reason"] for one in results["searches"][0]["tried"]} == {"no reason given"}
    assert "no reason given" in " ".join(search_lines(results)[0])


def test_two_searches_do_not_mix():
    made = planned(precision="fp32,amp")
    fp32 = [cell for cell in made["cells"] if cell["precision"] == "fp32"]
    amp = [cell for cell in made["cells"] if cell["precision"] == "amp"]
    runs = [*searched(fp32, below(40)), *searched(amp, below(60))]
    found = {one["precision"]: one["largest"] for one in build_results(made, runs)["searches"]}
    assert found == {"fp32": 40, "amp": 60}
