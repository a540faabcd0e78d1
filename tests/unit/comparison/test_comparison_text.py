"""The comparison and the gate in words."""

from ansible_collections.scalebench.core.plugins.module_utils.comparison.baseline import (
    compare_campaigns,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.comparison_text import (
    comparison_line,
    comparison_sections,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_rules import (
    judge_gate,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_text import (
    broken_rules,
    gate_sections,
    undecided_rules,
    unshown_rules,
)
from ansible_collections.scalebench.core.plugins.module_utils.layout.sections import markdown
from ansible_collections.scalebench.core.plugins.module_utils.report.text import terminal_table
from comparison_data import NODE, results, speeds

BASE = {f"{nodes}n1g": speeds(100 * nodes, nodes) for nodes in (1, 2, 4, 8)}


def nodes(**changes):
    return {f"node{number}": {**NODE, **changes} for number in range(1, 5)}


def compared(ours, baseline=BASE, now=None, before=None):
    found = results(ours, nodes=now or nodes())
    against = results(baseline, "before", nodes=before or nodes())
    return {**found, "comparison": compare_campaigns(found, [against], 0.02, "x")}


FOUND = compared(
    {
        "1n1g": speeds(95, 11),
        "2n1g": speeds(180, 12),
        "4n1g": speeds(400, 14),
        "8n1g": [900.0],
        "16n1g": [1500.0, 1501.0],
    },
    now=nodes(kernel="6.1.5"),
)


def test_the_line_tells_findings_and_changes():
    line = comparison_line(FOUND)
    assert line.startswith("against before of 4 cell(s): 2 slower (most: 2n1g -10.")
    assert " % [-1" in line
    assert "), 1 equivalent within 2 %, 1 undecided, 1 not compared;" in line
    assert line.endswith("; same day only; changed: kernel")


def test_the_section_has_cells_reasons_and_what_changed():
    (made,) = comparison_sections(FOUND)
    assert (made["ident"], made["title"]) == ("comparison", "Against before")
    cells, apart, changed = made["tables"]
    assert [row[0]["text"] for row in cells["rows"]] == ["1n1g", "2n1g", "4n1g", "8n1g"]
    assert [row[7]["text"] for row in cells["rows"]] == [
        *("slower", "slower", "equivalent", "undecided"),
    ]
    assert cells["rows"][3][6]["text"] == "-", "one repeat has no interval"
    assert [row[8]["text"] for row in cells["rows"]] == ["same day only"] * 4
    assert cells["rows"][3][9]["text"].startswith("one repeat only")
    assert [[cell["text"] for cell in row] for row in apart["rows"]] == [
        ["16n1g", "not in the baseline"]
    ]
    assert ["node[1-4]", "kernel", "6.1.0", "6.1.5"] in texts(changed)
    assert "| 1n1g" in markdown(made)


def texts(one):
    return [[cell["text"] for cell in row] for row in one["rows"]]


def test_nothing_changed_is_said():
    found = compared(BASE)
    assert comparison_line(found) == (
        "against before of 4 cell(s): 4 equivalent within 2 %; same day only;"
        " no recorded condition changed"
    )
    (made,) = comparison_sections(found)
    assert made["items"][0] == "no recorded condition changed"


def test_cells_are_named_by_what_tells_them_apart():
    found = compared(BASE)
    for index, cell in enumerate(found["comparison"]["cells"]):
        cell["precision"] = ("fp32", "amp")[index % 2]
    (made,) = comparison_sections(found)
    assert made["tables"][0]["rows"][1][0]["text"] == "amp 2n1g"


def test_some_nodes_share_a_row():
    now = nodes()
    now["node1"] = {**NODE, "kernel": "7.0"}
    now["node4"] = {**NODE, "kernel": "7.0"}
    (made,) = comparison_sections(compared(BASE, now=now))
    assert texts(made["tables"][-1]) == [["node[1,4]", "kernel", "6.1.0", "7.0"]]


def test_the_gate_is_a_table_and_lines_for_the_terminal():
    rules = [
        {"metric": "max_regression", "value": 0.02, "where": {"topology": "2n*"}},
        {"metric": "max_cv", "value": 0.5, "where": {"topology": "2n*"}},
    ]
    found = {**FOUND, "gate": judge_gate(FOUND, rules, "gates/x.yml")}
    (made,) = gate_sections(found)
    assert made["paragraphs"] == ["gate gates/x.yml: 1 broken of 2 rule(s)."]
    assert [row[2]["text"] for row in made["tables"][0]["rows"]] == ["broken", "passed"]
    assert [row[3]["text"] for row in made["tables"][0]["rows"]] == ["failed", "passed"]
    printed = terminal_table(found)
    assert all(len(line) <= 100 for line in printed.splitlines())
    said = " ".join(printed.split())
    assert "against before of 4 cell(s): 2 slower" in said
    assert "max_regression: 0.02 of topology 2n*: pytorch fp32 bz4 2n1g: -10." in said


def test_undecided_is_said_apart_from_broken_and_passed():
    rules = [
        {
            "metric": "min_throughput",
            "value": FOUND["cells"][0]["median_speed"],
            "where": {"topology": "1n1g"},
        },
        {"metric": "max_cv", "value": 0.5, "where": {"topology": "64n*"}},
        {"metric": "max_cv", "value": 0.5, "where": {"topology": "1n1g"}},
    ]
    found = {**FOUND, "gate": judge_gate(FOUND, rules, "x")}
    (made,) = gate_sections(found)
    assert [[cell["text"] for cell in row[2:4]] for row in made["tables"][0]["rows"]] == [
        ["undecided", "passed"],
        ["undecided", "failed"],
        ["passed", "passed"],
    ]
    said = " ".join(terminal_table(found).split())
    assert "gate x: 2 undecided of 3 rule(s) max_cv: 0.5 of topology 64n*: undecided: no" in said
    assert broken_rules(found) == []
    assert unshown_rules(found) == ["max_cv: 0.5 of topology 64n*: undecided: no cell is selected"]
    (open_rule,) = undecided_rules(found)
    assert "of topology 1n1g: undecided: pytorch fp32 bz4 1n1g: throughput" in open_rule


def test_a_gate_of_older_results_has_no_verdict_of_its_own():
    rules = [
        {"rule": "max_cv: 0.1", "selector": "", "ok": ok, "detail": "x"} for ok in (True, False)
    ]
    found = {**FOUND, "gate": {"file": "x", "ok": False, "rules": rules, "failures": []}}
    (made,) = gate_sections(found)
    assert [row[2]["text"] for row in made["tables"][0]["rows"]] == ["passed", "broken"]
    assert broken_rules(found) == ["max_cv: 0.1: x"]
    assert undecided_rules(found) == undecided_rules(FOUND) == unshown_rules(found) == []


def test_the_detail_of_a_rule_is_whole_in_the_report():
    """A rule of many cells lists each that breaks it."""
    detail = "; ".join(f"pytorch fp32 bz4 {count}n8g: throughput 1 *" for count in range(200))
    rule = {"rule": "min_throughput: 9", "selector": "", "ok": False, "verdict": "broken"}
    gate = {"file": "x", "ok": False, "rules": [{**rule, "detail": detail}], "failures": []}
    (made,) = gate_sections({**FOUND, "gate": gate})
    assert made["tables"][0]["rows"][0][4]["text"] == detail
    assert detail.replace("*", "\\*") in markdown(made)


def test_without_comparison_and_gate_nothing_is_said():
    found = results(BASE)
    assert comparison_sections(found) == gate_sections(found) == []
    assert comparison_sections({**found, "comparison": None}) == []
    assert "against" not in terminal_table(found)


def test_logs_of_unknown_machines_do_not_pass_for_unchanged():
    found = results(BASE)
    compared_logs = compare_campaigns(found, [results(BASE, "before")], 0.02, "x")
    line = comparison_line({**found, "comparison": compared_logs})
    assert line.endswith("what changed is not recorded")


def several_days(change=None):
    """Return results compared with campaigns of three days; ``change`` is called with these."""
    against = [
        results(BASE, f"b{day}", nodes=nodes(), created=f"2026-11-0{day}T08:00:00Z")
        for day in (1, 2, 3)
    ]
    if change:
        change(against)
    found = results(BASE, nodes=nodes())
    return {**found, "comparison": compare_campaigns(found, against, 0.02, "last:3")}


def test_several_days_are_named_and_hold_for_a_new_one():
    found = several_days()
    assert comparison_line(found) == (
        "against 3 campaigns of 3 day(s) of 4 cell(s): 4 equivalent within 2 %;"
        " no recorded condition changed"
    )
    (made,) = comparison_sections(found)
    assert made["title"] == "Against 3 campaigns of 3 day(s)"
    assert [row[8]["text"] for row in made["tables"][0]["rows"]] == ["new day"] * 4
    assert made["paragraphs"][0] == (
        "The baseline is 3 campaigns, given as last:3: b1, planned 2026-11-01T08:00:00Z; b2,"
        " planned 2026-11-02T08:00:00Z; b3, planned 2026-11-03T08:00:00Z. What changed is told"
        " against the latest, b3."
    )
    said = " ".join(made["paragraphs"])
    assert "Same day only" not in said and "New day: the interval contains" in said


def test_runs_that_lie_apart_and_what_is_left_out_are_told():
    def change(against):
        del against[0]["cells"][3]
        against[1]["cells"][0]["repeats"][2]["throughput"] = 80.0

    found = several_days(change)
    found["comparison"]["not_chosen"] = [{"reason": "other hardware", "campaigns": ["x", "y"]}]
    first = found["comparison"]["cells"][0]
    assert first["outlying"] == [{"campaign": "b2", "repeat": 3, "throughput": 80.0}]
    assert 80.0 in first["baseline_groups"][1], "told, not dropped"
    (made,) = comparison_sections(found)
    assert made["items"][-3:] == [
        "1n1g: repeat 3 of b2 (80 images/s) lies far from the others of its campaign; it is part of"
        " all figures here; rule deficit of a gate leaves such runs out, and names them",
        "8n1g: without b1: not in the baseline",
        "not in the baseline: x, y: other hardware",
    ]
