"""The model of report.html: head, tables, failures, commands, machines."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.layout.sections import filled, pieces
from ansible_collections.scalebench.core.plugins.module_utils.report.commands import (
    cell_commands,
    shell_line,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.headline import headline, trust
from ansible_collections.scalebench.core.plugins.module_utils.report.notes import (
    failures_section,
    logs_to_quote,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from page_data import eventful_results
from report_data import REFERENCE_004, campaign, disturbed, recorded

NODES = {"a": {"machine_id": "m", "cpu_model": "EPYC", "cores": 8, "gpus": []}}
WATCHED = {"a": {"telemetry": {"seconds": 9.0, "cpu": {"own_seconds": 9.0}}}}


def results_of(speeds, nodes=None, **changes):
    plan, runs = campaign(speeds, **changes)
    return build_results({**plan, "nodes": nodes or {}}, runs)


def shown(table):
    return [[cell["text"] for cell in row] for row in table["rows"]]


def test_head_says_what_was_measured_where_and_how_fast():
    head = headline(results_of(REFERENCE_004, NODES))
    assert head["what"] == [
        "pytorch: training of r50 in fp32, batch size 4 per device, weak scaling,"
        " on 1n1g, 1n2g, 1n4g, 1n8g, 2n8g, 4n8g."
    ]
    assert head["where"] == "1 node on 1 machine: EPYC, 8 cores, no GPU."
    figures = {one["label"]: (one["value"], one["note"]) for one in head["figures"]}
    assert figures["highest throughput, images/s"] == ("9,348.17", "4n8g, pytorch fp32")
    assert figures["speed-up, most devices"][0] == "26.50 of 32"
    assert figures["scaling efficiency"][0] == "82.82 %", "not 26.50 / 32"
    assert figures["successful repeats"][0] == "36 of 36"
    assert figures["spread of repeats (cv)"][1].endswith("at most 2.06 %")


@pytest.mark.parametrize(
    ("speeds", "changes", "level", "reason"),
    [
        ({"1n1g": [10.0] * 5, "2n1g": [19.0] * 5}, {}, "good", "All repeats succeeded"),
        ({"1n1g": [10.0] * 4}, {}, "care", "1 of 1 cells have fewer than 5 repeats"),
        ({"1n1g": [10.0, 11.5] * 3}, {}, "care", "1 of 1 cells on CPUs scatter by more than 5%"),
        ({"1n1g": [10.0, 10.3] * 3}, {}, "good", "All repeats succeeded"),
        (
            {"1n1g": [10.0, 10.3] * 3},
            {"device": "gpu"},
            "care",
            "1 of 1 cells on GPUs scatter by more than 1%",
        ),
        ({"1n1g": [10.0] * 4 + [None]}, {}, "care", "1 of 5 repeats have no result."),
        (
            {"1n1g": [10.0] * 5, "2n1g": [33.0] * 5},
            {},
            "poor",
            "1 of 2 cells have an impossible",
        ),
        ({"1n1g": [None] * 2}, {}, "none", "None of 2 repeats succeeded."),
    ],
)
def test_trust_follows_from_counts(speeds, changes, level, reason):
    plan, runs = campaign(speeds, **changes)
    runs = [one if one["facts"] else {**one, "ending": "crashed", "reason": "x"} for one in runs]
    runs = [{**one, "nodes": WATCHED} for one in runs]
    said = trust(build_results({**plan, "nodes": NODES}, runs))
    assert said["level"] == level
    assert any(one.startswith(reason) for one in said["reasons"])


def test_oversubscribed_cells_are_no_evidence_of_scaling():
    plan, runs = campaign({"1n1g": [10.0] * 5, "2n1g": [11.0] * 5})
    for run in runs[5:]:
        run["oversubscribed"] = True
    assert trust(build_results({**plan, "nodes": NODES}, runs))["level"] == "poor"


def test_logs_of_unknown_machines_are_never_beyond_doubt():
    said = trust(results_of({"1n1g": [10.0] * 5}))
    assert said["level"] == "care"
    assert "The machines are not recorded" in said["reasons"][0]


def gate_of(*rules, failures=()):
    return {"file": "strict", "ok": all(one["ok"] for one in rules), "rules": list(rules),
            "failures": list(failures)}  # fmt: skip


def rule(verdict, ok):
    return {"rule": "max_cv: 0.1", "selector": "", "verdict": verdict, "ok": ok, "detail": "x"}


def accepted(verdict):
    line = {"line": "x", "of": "", "measured": None, "low": None, "high": None, "detail": ""}
    return {"file": "mine", "about": "x", "verdict": verdict, "lines": [{**line, "verdict": "x"}]}


@pytest.mark.parametrize(
    ("added", "level", "verdict", "reason"),
    [
        ({"gate": gate_of(rule("passed", True))}, "good", "No problem found", "All repeats"),
        (
            {"gate": gate_of(rule("broken", False))},
            *("poor", "Gate failed", "Gate strict: 1 broken of 1 rule(s)."),
        ),
        (
            {"gate": gate_of(rule("undecided", False))},
            *("poor", "Gate failed", "Gate strict: 1 undecided of 1 rule(s)."),
        ),
        (
            {"gate": gate_of(rule("passed", True), failures=[{"log": "x"}])},
            *("poor", "Gate failed", "Gate strict: all 1 rule(s) passed; 1 failed repeat(s)"),
        ),
        (
            {"gate": gate_of(rule("undecided", True))},
            *("care", "Usable, with reservations", "Gate strict: 1 undecided"),
        ),
        (
            {"acceptance": accepted("accepted")},
            *("good", "No problem found", "All repeats"),
        ),
        (
            {"acceptance": accepted("not accepted"), "gate": gate_of(rule("broken", False))},
            *("poor", "Gate failed, Not accepted", "Acceptance mine: not accepted"),
        ),
        (
            {"acceptance": accepted("undecided")},
            *("care", "Usable, with reservations", "Acceptance mine: undecided"),
        ),
    ],
)
def test_the_head_agrees_with_gate_and_acceptance(added, level, verdict, reason):
    plan, runs = campaign({"1n1g": [10.0] * 5})
    runs = [{**one, "nodes": WATCHED} for one in runs]
    said = trust({**build_results({**plan, "nodes": NODES}, runs), **added})
    assert (said["level"], said["verdict"]) == (level, verdict)
    assert any(one.startswith(reason) for one in said["reasons"])


def test_disturbed_repeats_are_counted():
    plan, _ = campaign({"1n1g": [10.0] * 5})
    runs = [recorded(plan["cells"][0], index, 10.0, nodes=WATCHED) for index in range(1, 6)]
    runs[0]["disturbances"] = disturbed()
    runs[1]["nodes"] = {"a": {"telemetry": None}}
    said = trust(build_results({**plan, "nodes": NODES}, runs))
    assert said["reasons"] == [
        "1 of 5 repeats were disturbed.",
        "1 of 5 repeats have no telemetry, so disturbances cannot be detected.",
    ]


def test_every_cell_and_every_repeat_has_a_row():
    results = eventful_results()
    made = page(results, {}, [], {})
    cells = [row[0] for group in made["groups"] for row in shown(group["summary"]["tables"][0])]
    assert sorted(cells) == sorted(cell["topology"] for cell in results["cells"])
    repeats = sum(len(group["repeats"]["tables"][-1]["rows"]) for group in made["groups"])
    assert repeats == sum(len(c["repeats"]) + len(c["not_run"]) for c in results["cells"])
    states = {row[0]: row[-1] for row in shown(made["groups"][0]["summary"]["tables"][0])}
    assert states == {"1n1g": "measured", "2n1g": "partial", "4n1g": "invalid"}
    assert made["groups"][0]["summary"]["notes"][0]["title"] == "Invalid"


def test_reference_columns_come_first_and_empty_ones_are_left_out():
    made = page(results_of(REFERENCE_004), {}, [], {})["groups"][0]["summary"]["tables"][0]
    names = [column["name"] for column in made["columns"]]
    assert names[:6] == [
        *("topology", "node_num", "gpu_num", "samples/s", "interval (coverage)", "speedup"),
    ]
    assert shown(made)[-1][:4] == ["4n8g", "4", "32", "9348.17"]
    assert filled([{"a": None, "b": "-", "c": 0}], ["a"]) == ["a", "c"]


def test_what_gave_no_speed_has_its_reason_and_last_lines():
    results = eventful_results()
    assert logs_to_quote(results) == [
        {"log": "logs/2n1g/2.log", "reason": "node2: exit code 1: KeyError"}
    ]
    part = failures_section(results, {"logs/2n1g/2.log": ["Traceback", "KeyError: 'x'"]})
    endings = [(row[0], row[2]) for row in shown(part["tables"][0])]
    assert endings == [
        *(("fp32 2n1g", "crashed"), ("fp32 2n1g", "skipped"), ("fp32 2n1g", "not run")),
    ]
    assert part["quotes"] == [{"log": "logs/2n1g/2.log", "lines": ["Traceback", "KeyError: 'x'"]}]
    (meanings,) = part["notes"]
    crashed, skipped = ("".join(piece["text"] for piece in line) for line in meanings["lines"])
    assert crashed.startswith("crashed: a rank or its launcher ended with an error")
    assert "What to do: read the end of the log" in crashed
    assert skipped.startswith("skipped: not tried, because a smaller batch size")
    assert failures_section(results_of({"1n1g": [1.0]}), {}) is None


def test_quotes_of_a_campaign_that_failed_everywhere_are_limited():
    plan, runs = campaign({"1n1g": [None] * 100})
    failed = [{**run, "ending": "crashed"} for run in runs]
    assert len(logs_to_quote(build_results(plan, failed))) == 40


def test_a_shell_runs_what_the_node_ran():
    command = {"argv": ["python", "a b", "it's", "$HOME", "x\ty"], "env": {"A": "1 2", "B": ""}}
    assert shell_line(command) == ("A='1 2' B='' python 'a b' 'it'\"'\"'s' '$HOME' $'x\\ty'")
    assert shell_line({"argv": ["x" * 9000], "env": None}).endswith("(cut; plan.json has it whole)")


def test_a_command_shows_no_secret():
    line = shell_line({"argv": ["run"], "env": {"HF_TOKEN": "hf_abcdefghijklmnop"}})
    assert line == "HF_TOKEN=[redacted: secret of the environment] run"


def test_commands_are_those_of_the_first_repeat_else_of_the_plan():
    plan, runs = campaign({"1n1g": [10.0, 11.0], "2n1g": [19.0]})
    one, two = plan["cells"]
    two["commands"] = {
        "b": {"rank": 1, "argv": ["second"], "env": {}},
        "a": {"rank": 0, "argv": ["first"], "env": {}},
    }
    first = recorded(one, 1, 10.0, nodes={"a": {"rank": 0, "argv": ["ran"], "env": {}}})
    unreachable = recorded(two, 1, None, nodes={"a": {"ending": "launch_failed"}})
    second = recorded(one, 2, 11.0, nodes={"a": {"rank": 0, "argv": ["later"], "env": {}}})
    made = cell_commands(build_results(plan, runs), plan, [unreachable, second, first])
    assert [[node["line"] for node in cell["nodes"]] for cell in made] == [
        ["ran"],
        ["first", "second"],
    ]
    assert made[0]["about"] == "As run by repeat 1, from its run record"
    assert made[1]["about"] == "As planned; no run record has a command"


def test_commands_of_a_large_cell_are_those_of_its_first_nodes():
    plan, runs = campaign({"64n1g": [10.0]})
    nodes = {f"n{rank}": {"rank": rank, "argv": ["x"], "env": {}} for rank in range(64)}
    record = recorded(plan["cells"][0], 1, 10.0, nodes=nodes)
    (made,) = cell_commands(build_results(plan, runs), plan, [record])
    assert [node["node"] for node in made["nodes"]] == [f"n{rank}" for rank in range(8)]
    assert made["more"] == 56


@pytest.mark.parametrize(
    ("cells", "nodes", "shown_nodes"), [(100, 8, 8), (101, 8, 1), (101, 2, 2), (100, 9, 8)]
)
def test_of_too_many_commands_only_those_of_the_leading_nodes_are_shown(cells, nodes, shown_nodes):
    plan, runs = campaign({f"{count}n1g": [10.0] for count in range(1, cells + 1)})
    commands = {f"n{rank}": {"rank": rank, "argv": ["x"], "env": {}} for rank in range(nodes)}
    for cell in plan["cells"]:
        cell["commands"] = commands
    made = cell_commands(build_results(plan, runs), plan, [])
    assert {(len(cell["nodes"]), cell["more"]) for cell in made} == {
        (shown_nodes, nodes - shown_nodes)
    }


def test_logs_alone_have_no_commands_and_no_machines():
    made = page(results_of({"1n1g": [10.0]}), {}, [], {})
    assert made["commands"] == []
    assert made["machines"] is None
    assert made["head"]["where"] == "The machines are not recorded."


def test_software_of_the_machines_is_told_as_far_as_it_is_known():
    frameworks = {"pytorch": {"packages": {"torch": "2.13.0", "pip": "23"}}, "other": None}
    node = {**NODES["a"], "frameworks": frameworks, "cuda_toolkit": "13.0"}
    part = page(results_of({"1n1g": [10.0]}, {"a": node}), {}, [], {})["machines"]
    assert shown(part["tables"][1]) == [
        ["a", "pytorch: torch 2.13.0; other: versions unknown", "13.0"]
    ]


def test_quotes_in_backticks_become_pieces_of_code():
    assert pieces("`a.log`: crashed: `no | <b>`") == [
        {"text": "a.log", "code": True},
        {"text": ": crashed: ", "code": False},
        {"text": "no | <b>", "code": True},
    ]
