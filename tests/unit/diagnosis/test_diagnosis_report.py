"""Lines of logs to a measurement, and a diagnosis in words."""

import inspect
import json
import os
import re
from datetime import UTC, datetime

import diagnosis_data
import pytest
from action_calls import TEMPLATES as REPORT
from action_calls import result as run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis import repeats
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.diagnosis_text import (
    headline,
    prometheus,
    report_markdown,
    sections,
    terminal,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.measurement import (
    EVERY_PAIR,
    OF_GPUS,
    TESTS,
    measurement,
    schedule,
)
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.suspects import judge
from diagnosis_data import log_of, measured, named
from written_campaigns import write_campaign

from action_plugins import diagnosis_report
from collectives import doubts, rounds
from collectives.diagnose import make_parser

TEMPLATES = [REPORT[0].replace("/report/", "/diagnosis/"), *REPORT]


def diagnosis_of(data):
    return {
        "campaign": "one",
        "ended": 1234.5,
        **judge(data, {}),
        "tolerance": 3.0,
        "groups": {},
        **data,
    }


def test_the_lines_of_several_logs_are_joined():
    data = measured(4, 1)

    found = measurement({"1": log_of(data), "2": "other lines\n" + log_of(data)})

    assert found["nodes"] == data["nodes"]
    assert [row["rates"] for row in found["pairs"]] == [row["rates"] * 2 for row in data["pairs"]]
    assert measurement({"1": log_of(data)}) == {**data, "left_out": []}


def test_of_thousands_of_broken_lines_some_are_named():
    data = measured(4, 1)
    left_out = measurement({"1": log_of(data) + "\n[scalebench] alone {" * 1234})["left_out"]
    assert (len(left_out), left_out[-1]) == (101, "and 1134 more lines")


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("nothing", "no figures of nodes and pairs"),
        (
            log_of({**measured(3, 1), "pairs": [{"nodes": ["node1", "x"], "rates": [1.0]}]}),
            r"pair node1 - x: nothing alone was measured of \['x'\]",
        ),
    ],
)
def test_a_log_that_cannot_be_used_is_refused(log, message):
    with pytest.raises(ValueError, match=message):
        measurement({"1": log})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('alone {"test": "a", "node"', "Expecting"),
        ("alone " + "[" * 100_000, "nested too deep"),
        ('alone {"test": "a", "node": [], "device": 0, "rates": [1]}', "it.node is [], not a text"),
        ('alone {"test": "a", "node": "b", "device": 0, "rates": [true]}', "it.rates[0] is True"),
        ('alone {"test": "a", "node": "b", "device": 0, "rates": [1e999]}', "inf"),
        ('alone {"test": "a", "node": "b", "device": 0, "rates": []}', "no rates above 0"),
        ('pair {"nodes": ["a", "b"], "rates": [1, 0]}', "no rates above 0"),
        ('pair {"nodes": ["a"], "rates": [1]}', "a pair has two nodes"),
        ('pair {"nodes": ["a", "a"], "rates": [1]}', "a pair has two nodes"),
        ('pair {"nodes": ["a", "b", "c"], "rates": [1]}', "a pair has two nodes"),
        ('pair {"nodes": ["a", "b"], "rates": ["x"]}', "it.rates[0] is 'x', not a number"),
        ('pair {"nodes": ["a", "a - b"], "rates": [1]}', "it names no node: 'a - b'"),
        ('alone {"test": "memory_copy", "node": " ", "device": 0, "rates": [1]}', "names no node"),
        ('alone {"test": "a", "node": "b", "device": 0, "rates": [1]}', "unknown test 'a'"),
        ('alone {"test": "memory_copy", "node": "b", "device": -1, "rates": [1]}', "a device -1"),
        ("pair 7", "it is 7, not a mapping"),
    ],
)
def test_a_damaged_line_costs_only_itself_and_is_named(line, message):
    data = measured(4, 1)

    found = measurement({"1n1g/a.log": f"[scalebench] {line}\n{log_of(data)}"})

    (said,) = found.pop("left_out")
    assert said.startswith("1n1g/a.log, line 1: ")
    assert message in said
    assert found == data
    shown = terminal({**diagnosis_of(data), "left_out": [said]})
    assert f"Lines left out: 1. The others count.\n- {said}" in shown


def test_what_was_measured_too_few_times_costs_only_itself_and_is_named():
    """Of all other rows the suspects are as before."""
    data = measured(8, 1, node={2: 0.3})
    few = [row for row in data["alone"] if row["node"] == "node1"]
    few += [row for row in data["pairs"] if row["nodes"] == ["node1", "node2"]]
    for row in few:
        row["rates"] = row["rates"][:2]

    found = measurement({"1": log_of(data)})

    why = "measured 2 times, and one disturbance would make it a suspect: measure at least 3 times"
    tests = [f"{test} of node1 0" for test in diagnosis_data.TESTS]
    assert found["left_out"] == [
        f"{name}: {why} (-e iterations=3)" for name in [*tests, "pair node1 - node2"]
    ]
    assert not any(row in found["alone"] + found["pairs"] for row in few)
    assert (len(found["nodes"]), len(found["pairs"])) == (8, 27)
    diagnosis = diagnosis_of(found)
    assert named(diagnosis) == {("node", "node3")}
    assert "Lines left out: 4. The others count." in terminal(diagnosis)


def test_a_test_with_too_few_figures_costs_only_itself_and_is_named():
    data = measured(3, 1)
    short = next(row for row in data["alone"] if row["test"] == "matrix_product")
    short["rates"] = short["rates"][:1]

    found = measurement({"1": log_of(data)})

    assert found["left_out"][1:] == [
        "matrix_product: 2 figures: three are needed to tell which one is slow"
    ]
    assert {row["test"] for row in found["alone"]} == {"training_step", "memory_copy"}
    assert diagnosis_of(found)["suspects"] == []


def test_what_is_too_few_of_everything_is_refused_with_the_reason():
    data = measured(4, 1)
    for row in data["pairs"]:
        row["rates"] = row["rates"][:1]
    with pytest.raises(ValueError, match=r"no figures.*pair node1 - node4: measured 1 times.*ns=3"):
        measurement({"1": log_of(data)})
    with pytest.raises(ValueError, match="training_step: 2 figures: three are needed"):
        measurement({"1": log_of(measured(2, 1))})


@pytest.mark.parametrize("nodes", [3, 4, 31, 32, 33, 64, 511])
def test_the_stated_schedule_is_the_one_of_the_trainer(nodes):
    planned = rounds.rounds(nodes)
    pairs = sum(map(len, planned))
    assert f"at most {rounds.REPEATED} rounds" in " ".join(schedule(nodes))

    text = " ".join(schedule(nodes))

    assert f" {pairs} " in text
    assert f"in {len(planned)} rounds" in text
    assert EVERY_PAIR == rounds.EVERY_PAIR


def test_the_simulation_measures_what_the_trainer_does():
    assert {*TESTS} == {*diagnosis_data.TESTS, *OF_GPUS}
    assert "training step, matrix product, memory copy, host to device (of GPUs)." in schedule(4)[1]
    given = inspect.signature(measured).parameters
    defaults = make_parser().parse_args([])
    assert (given["repeats"].default, given["alone"].default) == (
        defaults.iterations,
        defaults.alone,
    )


def test_a_pair_is_the_same_in_both_orders():
    data = measured(4, 1, link={(0, 1): 0.4})
    turned = [{**one, "nodes": one["nodes"][::-1]} for one in data["pairs"]]
    found = measurement({"a": log_of(data), "b": log_of({**data, "pairs": turned})})
    assert [one["nodes"] for one in found["pairs"]] == [one["nodes"] for one in data["pairs"]]
    assert named(judge(found, {})) == {("link", "node1 - node2")}


def test_what_is_measured_again_is_what_is_judged_as_disturbed():
    assert (doubts._DISTURBED, doubts._DISAGREE) == (repeats._FAR, repeats._UNSURE)


def test_a_suspect_is_told_with_its_deficit_and_what_to_do():
    diagnosis = diagnosis_of(measured(8, 1, link={(0, 3): 0.5}))

    assert headline(diagnosis) == "Suspects: node1 - node4 (slow link)."
    text = terminal(diagnosis)
    assert "node1 - node4: only this pair is slow" in text
    (suspect,) = diagnosis["suspects"]
    (deficit,) = suspect["deficits"]
    assert deficit["low"] < deficit["deficit"] < deficit["high"]
    lines = report_markdown(diagnosis).splitlines()
    (row,) = [line for line in lines if line.startswith("| node1 - node4 | slow link | pair_")]
    assert f"| {deficit['low']} to {deficit['high']} " in row
    assert f"suspect below {diagnosis['alpha']})" in "\n".join(lines)
    assert 'scalebench_suspects{kind="link"} 1' in prometheus(diagnosis)


@pytest.mark.parametrize(
    ("nodes", "name", "widest"),
    [
        (4, "node{}", "| node4 "),
        # The map of all pairs is exactly 100 columns wide.
        (8, "machine{}", "| machine8 "),
        (12, "node{}", "| 12 node12 | "),
        (14, "gpu{:02}", "| 14 gpu14 | "),
        (20, "node{}", "the 20 slowest of 190"),
        (5, "gpu{:02}.rack-7.cluster.example.org", "| 5 gpu05.rack-7.cluster.example.org "),
        (40, "node{}", "the 20 slowest of 120"),
    ],
)
def test_the_terminal_has_a_hundred_columns(nodes, name, widest):
    data = measured(nodes, 1, node={0: 0.4}, link={(1, 3): 0.5}, repeats=3)
    text = json.dumps(data)
    for number in range(nodes, 0, -1):
        text = text.replace(f'"node{number}"', f'"{name.format(number)}"')
    diagnosis = diagnosis_of(json.loads(text))

    shown = terminal(diagnosis)

    assert diagnosis["suspects"]
    for suspect in diagnosis["suspects"]:
        assert f"{suspect['subject']}: " in shown
    assert max(map(len, shown.splitlines())) <= 100
    assert widest in shown
    if "slowest" in widest:
        listed = [line for line in shown.splitlines() if line.startswith("| ") and " - " in line]
        rates = [int(line.split("|")[2]) for line in listed[-20:]]
        assert rates == sorted(rates) and rates[-1] < 100


def test_each_test_of_a_device_has_its_median_its_lowest_and_its_highest_rate():
    data = measured(4, 1)
    data["alone"][0]["rates"] = [90.0, 110.0, 100.0]
    (alone,) = [one for one in sections(diagnosis_of(data)) if one["ident"] == "alone"]
    (listed,) = alone["tables"]
    assert listed["caption"].startswith("training_step in steps/s; matrix_product in GFLOP/s; ")
    row = dict(zip((one["name"] for one in listed["columns"]), listed["rows"][0], strict=True))
    figures = [row[name]["text"] for name in ("median", "lowest", "highest")]
    assert figures == ["100.00", "90.00", "110.00"]


def test_prometheus_has_each_deficit_and_each_pair():
    data = measured(4, 1, node={2: 0.3})
    data["pairs"][0]["rates"] = [50.0, 100.0, 200.0]
    data["nodes"] = [name.replace("node1", 'no"de1') for name in data["nodes"]]
    for row in data["alone"]:
        row["node"] = row["node"].replace("node1", 'no"de1')
    for row in data["pairs"]:
        row["nodes"] = [name.replace("node1", 'no"de1') for name in row["nodes"]]
    diagnosis = diagnosis_of(data)

    lines = prometheus(diagnosis).splitlines()

    (suspect,) = diagnosis["suspects"]
    deficit = next(one for one in suspect["deficits"] if one["test"] == "memory_copy")
    labels = '{kind="node",subject="node3",test="memory_copy"}'
    for name, key in (
        ("deficit_percent", "deficit"),
        ("deficit_low_percent", "low"),
        ("deficit_high_percent", "high"),
        ("p_value", "p"),
    ):
        assert f"scalebench_suspect_{name}{labels} {deficit[key]}" in lines
    first, second = data["pairs"][0]["nodes"]
    pair = f'first="{first}",second="{second}"'.replace('no"', 'no\\"')
    rate = f"scalebench_pair_rate_bytes_per_second{{{pair}}} 100000000"
    assert rate in lines
    rates = [line for line in lines if line.startswith("scalebench_pair_rate")]
    assert len(rates) == 6
    share = diagnosis["seen"]["link"]
    assert f'scalebench_diagnosis_visible_deficit_percent{{kind="link"}} {share}' in lines
    assert "scalebench_diagnosis_ended_timestamp_seconds 1234.5" in lines
    assert 'scalebench_diagnosis_verdict{verdict="slow"} 1' in lines
    sound = prometheus(diagnosis_of(measured(4, 1)))
    assert 'scalebench_diagnosis_verdict{verdict="slow"} 0' in sound
    assert 'scalebench_diagnosis_verdict{verdict="sound"} 1' in sound
    assert "scalebench_suspect_deficit" not in sound and "scalebench_pair_rate" in sound


def test_cells_of_the_map_are_marked_by_their_deficit():
    data = measured(8, 1)
    for row in data["pairs"]:
        row["rates"] = [100.0] * 3
    shares = (0.98, 0.97, 0.96, 0.9, 0.89, 0.8, 0.79, 0.65, 0.64, 1.5)
    for row, share in zip(data["pairs"], shares):
        row["rates"] = [100.0 * share] * 3
    (table,) = next(part for part in sections(diagnosis_of(data)) if part["ident"] == "pairs")[
        "tables"
    ]
    marks = {}
    for row in table["rows"]:
        for column, cell in zip(table["columns"][1:], row[1:]):
            marks[frozenset((row[0]["text"], column["name"]))] = cell["mark"]
    found = [marks[frozenset(row["nodes"])] for row in data["pairs"][:11]]
    assert found == [0, 0, 1, 1, 2, 2, 3, 3, 4, 0, 0]
    assert "Pairs below 97, 90, 80 and 65 %" in report_markdown(diagnosis_of(data))
    assert marks[frozenset({"node1"})] == 0


def test_nothing_found_says_what_would_have_been_seen():
    diagnosis = diagnosis_of(measured(40, 1, repeats=3))

    text = terminal(diagnosis)
    assert text.startswith("Nothing slow was found.")
    assert "| slow link " in text
    assert "the 20 slowest of 120" in report_markdown(diagnosis)
    partly = terminal({**diagnosis, "left_out": ["memory_copy of node1 0: measured 2 times"]})
    assert partly.startswith("Nothing slow was found in what was measured; see the lines ")
    assert 'scalebench_suspects{kind="node"} 0' in prometheus(diagnosis)


def test_what_noise_hides_is_undecided_and_said():
    diagnosis = diagnosis_of(measured(4, 2, noise=0.2))

    assert headline(diagnosis).startswith("Undecided: nothing slow was found, but only a slow ")
    assert "a slow link from" in headline(diagnosis)
    diagnosis["seen"]["link"] = 29.0
    assert "a slow link from" not in headline(diagnosis)
    assert max(map(len, terminal(diagnosis).splitlines()[:3])) <= 100


def test_a_group_that_every_pair_touches_is_said_to_be_unseen():
    data = measured(4, 1)
    verdict = judge(data, {"rack": data["nodes"][:3]})
    assert verdict["unseen"] == ["group rack"]
    told = terminal({**diagnosis_of(data), **verdict})
    assert "Not seen, since (nearly) every measured pair touches it: slow group rack." in told


def test_repeated_pairs_come_after_those_of_all_sweeps():
    data = measured(4, 1)
    more = {"nodes": data["pairs"][0]["nodes"], "again": True, "rates": [1.0, 2.0]}
    log = f"{log_of(data)}\n[scalebench] pair {json.dumps(more)}"

    found = measurement({"1": log, "2": log})

    assert found["pairs"][0]["rates"] == data["pairs"][0]["rates"] * 2 + [1.0, 2.0, 1.0, 2.0]
    assert found["pairs"][1]["rates"] == data["pairs"][1]["rates"] * 2
    assert set(found["pairs"][0]) == {"nodes", "rates"}


@pytest.mark.parametrize("members", [None, 5, "node1,node2", ["node1", None]])
def test_a_group_is_a_list_of_nodes_already_before_anything_is_measured(members):
    args = {"campaign_dir": "", "nodes": 4, "templates": TEMPLATES, "groups": {"rack1": members}}
    with pytest.raises(AnsibleActionFail, match=r"diagnosis_groups: rack1 is .*: write the nodes"):
        run_action(diagnosis_report, args)


def test_the_action_judges_the_complete_logs_of_a_campaign(tmp_path):
    folder = write_campaign(tmp_path / "first", {"4n1g": 12.0}, repeats=2)
    logs = [path.with_suffix("").with_suffix(".log") for path in folder.glob("logs/**/*.run.json")]
    data = measured(4, 1, link={(0, 1): 0.5})
    for day, log in enumerate(sorted(logs, reverse=True), 1):
        log.write_text(log_of(data))
        record = json.loads(log.with_suffix(".run.json").read_text())
        record["recorded"] = f"2026-11-0{day}T00:00:00+00:00"
        log.with_suffix(".run.json").write_text(json.dumps(record))
    args = {"campaign_dir": str(folder), "templates": TEMPLATES}
    args["groups"] = {"rack": ["node1", "node2", "other"], "everyone": data["nodes"]}

    found = run_action(diagnosis_report, args)

    assert named(found) == {("link", "node1 - node2")}
    assert (found["verdict"], found["headline"]) == ("slow", "Suspects: node1 - node2 (slow link).")
    written = json.loads((folder / "diagnosis.json").read_text())
    assert written["groups"] == {"rack": ["node1", "node2"]}
    assert written["tolerance"] == 3.0
    assert written["exclude"] == ["node2"]
    assert datetime.fromtimestamp(written["ended"], UTC).day == 2
    # The slow pair and one beside it were measured again.
    assert sorted(len(row["rates"]) for row in written["pairs"]) == [10, 10, 10, 10, 20, 20]
    assert "slow link" in (folder / "diagnosis.html").read_text()
    assert not run_action(diagnosis_report, args)["changed"]


def test_a_log_or_record_that_cannot_be_read_costs_only_itself_and_is_named(tmp_path):
    folder = write_campaign(tmp_path / "first", {"4n1g": 12.0}, repeats=3)
    records = sorted(folder.glob("logs/**/*.run.json"))
    logs = [path.with_suffix("").with_suffix(".log") for path in records]
    data = measured(4, 1)
    logs[0].write_text(log_of(data))
    logs[1].unlink(missing_ok=True)
    os.mkfifo(logs[1])
    records[2].write_text('{"ending": "ok"')

    run_action(diagnosis_report, {"campaign_dir": str(folder), "templates": TEMPLATES})

    written = json.loads((folder / "diagnosis.json").read_text())
    assert written["nodes"] == data["nodes"]
    names = [str(path.relative_to(folder)) for path in (records[2], logs[1])]
    assert [any(name in said for said in written["left_out"]) for name in names] == [True, True]


def test_the_action_fails_where_nothing_was_measured(tmp_path):
    folder = write_campaign(tmp_path / "first", {"4n1g": 12.0}, repeats=1)
    for path in folder.glob("logs/**/*.run.json"):
        record = {**json.loads(path.read_text()), "ending": "crashed"}
        path.write_text(json.dumps(record))

    with pytest.raises(AnsibleActionFail, match=r"nothing was measured .*: crashed"):
        run_action(diagnosis_report, {"campaign_dir": str(folder)})


def test_each_device_alone_has_its_test_and_a_name_is_not_broken():
    data = measured(3, 1)
    text = report_markdown(diagnosis_of(data))
    assert re.search(r"\| node +\| device \| test +\| +median \|", text)
    long = "-".join(["rack"] * 12)
    renamed = json.loads(json.dumps(data).replace("node2", long))
    words = terminal({**diagnosis_of(renamed), "left_out": [f"{long} {long}"]})
    assert (
        words.count(long) == json.dumps(words).count("rack-rack-rack-rack-rack-rack-rack-rack") > 2
    )
