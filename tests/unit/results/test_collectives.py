"""Collective operations in results and reports: from the lines of logs to latency and bandwidth."""

from __future__ import annotations

import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from ansible_collections.scalebench.core.plugins.module_utils.report.collectives_text import (
    collective_lines,
    collective_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.text import (
    report_markdown,
    terminal_table,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.collectives import (
    all_reduce_times,
    collectives,
    variant,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from collective_data import LATENCY, PER_BYTE, SIZES, facts, results_of
from report_data import campaign

from collectives.definitions import operation_line


def test_a_log_tells_what_is_moved_and_how_long_that_takes():
    message = facts(1024, 4)["message"]
    assert (message["collective"], message["bytes"]) == ("all_reduce", 1024)
    assert message["busbw_factor"] == pytest.approx(1.5, rel=1e-4)
    # The durations of the measured operations, though results round their bandwidth to 0.01.
    assert message["seconds"] == pytest.approx(LATENCY + 1024 * PER_BYTE, rel=1e-3)


def test_a_log_of_two_sizes_has_no_message():
    log = [operation_line("all_reduce", number, 4 * number, 2, 1e-3, 5.0) for number in (1, 2)]
    known = facts_of_text("\n".join(log), "harmonic_mean")
    assert known["throughput"] > 0
    assert "message" not in known
    assert "message" not in known["summary"]


def test_a_damaged_record_has_no_time():
    cells = results_of(topologies=["2n1g"])["cells"]
    cells[0]["repeats"][0]["message"]["seconds"] = 0.0
    cells[1]["repeats"][0]["message"]["seconds"] = float("nan")
    (group,) = collectives(cells, {})["groups"]
    assert [size["n"] for size in group["sizes"]] == [2, 2, 3, 3]


def test_each_topology_has_its_latency_and_bandwidth():
    found = json.loads(json.dumps(results_of()["collectives"]))
    assert [one["topology"] for one in found["groups"]] == ["2n1g", "4n1g"]
    for one, factor in zip(found["groups"], (1.0, 1.5)):
        assert (one["collective"], one["variant"]) == ("all_reduce", "bz1-opall_reduce")
        assert [size["bytes"] for size in one["sizes"]] == list(SIZES)
        assert one["busbw_factor"] == pytest.approx(factor, rel=1e-4)
        fit = one["fit"]
        assert fit["holds"]
        assert fit["latency_low"] < LATENCY < fit["latency_high"]
        assert fit["latency_seconds"] == pytest.approx(LATENCY, rel=1e-3)
        assert fit["bytes_per_second"] == pytest.approx(1 / PER_BYTE, rel=1e-3)


def test_operations_and_variants_are_apart():
    plain, tuned = (
        results_of(topologies=["2n1g"], name=name, treatment=treatment)["cells"]
        for name, treatment in (("all_gather", "none"), ("all_gather", "tuned"))
    )
    others = results_of(topologies=["2n1g"])["cells"]
    groups = collectives([*plain, *tuned, *others], {})["groups"]
    assert [(one["collective"], len(one["sizes"])) for one in groups] == [
        ("all_gather", 4),
        ("all_gather", 4),
        ("all_reduce", 4),
    ]


def test_a_group_of_one_size_keeps_it_in_its_variant():
    (group,) = collectives(results_of(sizes=(1024,), topologies=["2n1g"])["cells"], {})["groups"]
    assert group["variant"] == "bz1-opall_reduce-bytes1024"


def slower(cells, repeats=3):
    """Return cells whose operations take ten times as long, with so many repeats each."""
    for cell in cells:
        del cell["repeats"][repeats:]
        for repeat in cell["repeats"]:
            repeat["message"]["seconds"] *= 10
    return cells


def test_only_all_reduces_of_the_same_variant_with_the_most_repeats_count():
    mine = results_of(topologies=["2n1g"])["cells"]
    gathered = slower(results_of(topologies=["2n1g"], name="all_gather")["cells"])
    fewer = slower(results_of(topologies=["2n1g"], precision="bf16")["cells"], repeats=1)
    tuned = slower(results_of(topologies=["2n1g"], treatment="tuned")["cells"])
    for cells in ([*mine, *gathered, *fewer, *tuned], [*tuned, *fewer, *gathered, *mine]):
        found = all_reduce_times(cells)[variant(mine[0])]
        assert found["2n1g"][1024][1] == pytest.approx(LATENCY + 1024 * PER_BYTE, rel=1e-3)
    found = all_reduce_times([*mine, *tuned])[variant(tuned[0])]
    assert found["2n1g"][1024][1] == pytest.approx(10 * (LATENCY + 1024 * PER_BYTE), rel=1e-3)


def test_a_training_has_none():
    training = build_results(*campaign({"1n1g": [1.0]}))
    assert "collectives" not in training
    assert collective_sections(training) == collective_lines(training) == []


def test_every_form_of_the_report_shows_them():
    results = results_of()
    (section,) = collective_sections(results)
    row = dict(
        zip(
            (column["name"] for column in section["tables"][0]["columns"]),
            (one["text"] for one in section["tables"][0]["rows"][1]),
        )
    )
    assert row["operation"] == "all_reduce fp32 bz1-opall_reduce 4n1g"
    assert (row["latency, us"][:3], row["bandwidth, MB/s"][:4]) == ("300", "500.")
    assert row["of the bus, MB/s"].startswith("750.")
    assert row["fits"] == "yes"
    sentence = "all_reduce fp32 bz1-opall_reduce 2n1g: latency 300.0 us ("
    assert sentence in terminal_table(results)
    assert "## Collective operations" in report_markdown(page(results))


def test_the_report_says_where_the_law_does_not_hold():
    two = results_of(sizes=SIZES[:2], topologies=["2n1g"])
    (line,) = collective_lines(two)
    assert line.endswith(
        "neither latency nor bandwidth, 2 size(s), and the law takes 3 to be checked."
    )
    bent = results_of(topologies=["2n1g"])
    for one in bent["cells"][-1]["repeats"]:
        one["message"]["seconds"] *= 3
    again = collective_lines({**bent, "collectives": collectives(bent["cells"], {})})
    assert "the times do not follow the law, which at " in again[0]
