"""What happened to a campaign: the remarks of the terminal and the lists of report.md."""

from __future__ import annotations

import csv
import io

from ansible_collections.scalebench.core.plugins.module_utils.records.endings import ending_names
from ansible_collections.scalebench.core.plugins.module_utils.report.exports import csv_text
from ansible_collections.scalebench.core.plugins.module_utils.report.headline import headline
from ansible_collections.scalebench.core.plugins.module_utils.report.notes import (
    failures_section,
    notes,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.optional_sections import (
    after_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.provenance import method
from ansible_collections.scalebench.core.plugins.module_utils.report.remarks import what_happened
from ansible_collections.scalebench.core.plugins.module_utils.report.text import terminal_table
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign, disturbed, recorded


def listed(results):
    return {note["title"]: note["lines"] for note in notes(results["cells"])}


def the_csv(results):
    return list(csv.DictReader(io.StringIO(csv_text(results))))


def test_a_plain_campaign_has_no_sections_of_what_did_not_happen():
    results = build_results(*campaign({"1n1g": [10.0, 10.1], "2n1g": [19.0, 19.1]}))
    assert what_happened(results) == []
    assert listed(results) == {}
    assert after_sections(results) == []
    assert [part["ident"] for part in page(results)["method"]] == ["method", "origin"]
    assert not any("number of repeats" in line for line in method(results))


def test_disturbed_repeats_are_one_line_and_a_list():
    plan, runs = campaign({"1n1g": [10.0] * 3, "2n1g": [19.0] * 3})
    for number in (0, 4, 5):
        what = disturbed("node1") + disturbed("node2", "steal", "the hypervisor gave 3.0 seconds")
        runs[number]["disturbances"] = what
    results = build_results(plan, runs)
    assert what_happened(results) == [
        "3 of 6 repeats were disturbed: other process on node1; steal on node2"
    ]
    assert listed(results)["Disturbed"][0] == (
        "`logs/1n1g/1.log`: node1: `a process took 9.7 CPU seconds`;"
        " node2: `the hypervisor gave 3.0 seconds`"
    )
    rows = page(results)["groups"][0]["repeats"]["tables"][-1]["rows"]
    assert [row[-1]["text"] for row in rows][:3] == ["other process, steal", "-", "-"]
    assert [row["repeats_disturbed"] for row in the_csv(results)] == ["1", "2"]


def test_a_failed_repeat_is_not_called_disturbed():
    plan, runs = campaign({"1n1g": [10.0, 10.0]})
    runs[1] = recorded(
        plan["cells"][0], 2, None, ending="crashed", reason="node1: x", disturbances=disturbed()
    )
    assert what_happened(build_results(plan, runs)) == []


def test_retried_repeats_are_one_line_and_a_list():
    plan, runs = campaign({"1n1g": [10.0, 10.0, 10.0]})
    of = plan["cells"][0]
    attempts = {
        runs[0]["log"]: [
            recorded(of, 1, None, ending="crashed", reason="node2: exit code 1: no route"),
            recorded(of, 1, 7.5, disturbances=disturbed()),
        ],
        runs[2]["log"]: [recorded(of, 3, None, ending="stalled", reason="node1: no output")],
    }
    results = build_results(plan, runs[:2], attempts=attempts)
    assert what_happened(results) == [
        "2 repeats needed more than one attempt; earlier ones: 1 crashed, 1 disturbed, 1 stalled"
    ]
    assert listed(results)["Retried"] == [
        "`logs/1n1g/1.log`: 3rd attempt ok; 1st: crashed: `node2: exit code 1: no route`;"
        " 2nd: 7.50, disturbed: node2: `a process took 9.7 CPU seconds`",
        "`logs/1n1g/3.log`: to be retried; 1st: stalled: `node1: no output`",
    ]
    assert the_csv(results)[0]["repeats_retried"] == "1"


def test_both_lines_fit_a_terminal_whatever_they_name():
    plan, runs = campaign({"1n1g": [10.0] * 30})
    of = plan["cells"][0]
    for number, run in enumerate(runs):
        run["disturbances"] = disturbed(f"node{number:03}.cluster.example")
    attempts = {runs[0]["log"]: [recorded(of, 1, None, ending=e) for e in ending_names() * 9]}
    results = build_results(plan, runs, attempts=attempts)
    assert [len(line) <= 100 for line in what_happened(results)] == [True, True]
    table = terminal_table(results)
    assert all(len(line) <= 100 for line in table.splitlines())
    assert sum("disturbed" in line for line in table.splitlines()) == 1
    assert sum("attempt" in line for line in table.splitlines()) == 1


def test_an_invalid_speedup_is_not_printed_as_a_result():
    results = build_results(*campaign({"1n1g": [10.0] * 3, "2n1g": [33.0] * 3}))
    table = terminal_table(results)
    (row,) = [line for line in table.splitlines() if "33.00" in line]
    assert "invalid" in row
    assert "3.30" not in row
    assert "2n1g: invalid: speed-up 3.3 on 2 device(s), more than 1.05 x ideal" in table
    assert "no speed-up, because" not in table
    (table,) = page(results)["groups"][0]["summary"]["tables"]
    assert [row[-1]["text"] for row in table["rows"]] == ["measured", "invalid"]
    assert listed(results)["Invalid"][0].startswith("2n1g: speed-up 3.3 on 2 device(s)")
    one, two = the_csv(results)
    assert (two["speedup"], two["state"], one["invalid"]) == ("", "invalid", "")
    assert "3.3 on 2" in two["invalid"]


def test_odd_cells_are_listed_and_the_first_is_told():
    results = build_results(*campaign({"1n1g": [10.0] * 3, "2n1g": [8.0] * 3}))
    assert what_happened(results) == ["2n1g: unexpected: 8.0 with 2n1g, but 10.0 with 1n1g"]
    results = build_results(*campaign({"1n1g": [10.0] * 3, "2n1g": [8.0] * 3, "4n1g": [7.0] * 3}))
    assert what_happened(results) == [
        "2n1g: unexpected: 8.0 with 2n1g, but 10.0 with 1n1g (and 1 more in the report)"
    ]
    assert listed(results)["Unexpected, but counted"] == [
        "2n1g: 8.0 with 2n1g, but 10.0 with 1n1g",
        "4n1g: 7.0 with 4n1g, but 8.0 with 2n1g",
    ]


def test_the_first_of_each_kind_of_odd_cell_is_told():
    plan, runs = campaign({"1n1g": [10.0] * 3, "2n1g": [8.0] * 3, "4n1g": [30.0] * 3})
    plan["cells"][2]["transport"] = "NET/IB"
    told = what_happened(build_results(plan, runs))
    assert [line[:24] for line in told] == [
        "2n1g: unexpected: 8.0 wi",
        "4n1g: unexpected: no ran",
        "4n1g: unexpected: 7.5 pe",
    ]


def test_skipped_and_unavailable_are_told_once_for_a_reason():
    plan, _ = campaign({"1n1g": [10.0] * 2, "2n1g": [1.0] * 2, "4n1g": [1.0] * 2})
    one, two, four = plan["cells"]
    runs = [
        *(recorded(one, i, 10.0) for i in (1, 2)),
        *(recorded(two, i, None, ending="skipped", reason="out of memory at 2") for i in (1, 2)),
        *(recorded(four, i, None, ending="unavailable", reason="node4: no torch") for i in (1, 2)),
    ]
    results = build_results(plan, runs)
    assert what_happened(results) == [
        "2n1g: skipped: out of memory at 2",
        "4n1g: unavailable: node4: no torch",
    ]
    (table,) = failures_section(results, {})["tables"]
    assert [[cell["text"] for cell in row[:4]] for row in table["rows"]] == [
        ["pytorch fp32 2n1g", "1", "skipped", "out of memory at 2"],
        ["pytorch fp32 2n1g", "2", "skipped", "out of memory at 2"],
        ["pytorch fp32 4n1g", "1", "unavailable", "node4: no torch"],
        ["pytorch fp32 4n1g", "2", "unavailable", "node4: no torch"],
    ]
    summary = headline(results)["counts"]
    assert summary.endswith("in 3 cells; 2 could not run here; 2 skipped.")
    assert "no repeat succeeded" not in terminal_table(results)
    assert [row["repeats_skipped"] for row in the_csv(results)] == ["0", "2", "0"]
    assert [row["repeats_unavailable"] for row in the_csv(results)] == ["0", "0", "2"]


def test_adaptive_repeats_tell_their_rule_and_what_each_cell_reached():
    plan, runs = campaign({"1n1g": [10.0, 10.1, 9.9, 10.0, 10.1, 9.9]})
    plan["options"] = {"half_width": 0.005}
    results = build_results(plan, runs)
    (line,) = listed(results)["Repeats until the median is known"]
    assert line == "1n1g: 6 repeats: ±1.00%, asked for ±0.50%; more are needed"
    (rule,) = [line for line in method(results) if "number of repeats" in line]
    assert "is at most 0.50% of it" in rule


def test_warnings_of_the_nodes_are_listed():
    plan, _ = campaign({"1n1g": [10.0]})
    nodes = {"node1": {"ending": "ok", "strays": 2}}
    results = build_results(plan, [recorded(plan["cells"][0], 1, 10.0, nodes=nodes)])
    assert listed(results)["Warnings of the nodes"] == [
        "`logs/1n1g/1.log`: `node1: 2 processes of an earlier run were ended before`"
    ]


def test_a_repeat_that_was_given_up_had_no_further_attempt():
    plan, _ = campaign({"1n1g": [10.0]})
    of = plan["cells"][0]
    given_up = recorded(of, 1, None, ending="unavailable", reason="node1: no torch")
    crashed = recorded(of, 1, None, ending="crashed", reason="node1: signal 9")
    results = build_results(plan, [given_up], attempts={given_up["log"]: [crashed]})
    assert listed(results)["Retried"] == [
        "`logs/1n1g/1.log`: not retried, unavailable; 1st: crashed: `node1: signal 9`"
    ]
