"""What report.html takes from the campaign's folder, whatever lies there."""

import json
import os
import time

import pytest
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import (
    plan_and_records,
    plots,
    tails,
)
from report_data import campaign, recorded


def tail(folder, log, reason=""):
    return tails(folder, [{"log": log, "reason": reason}]).get(log)


def test_last_twenty_lines_without_colours(tmp_path):
    text = "\n".join(f"\x1b[31mline {number}\x1b[0m" for number in range(100))
    (tmp_path / "a.log").write_text(text)
    assert tail(tmp_path, "a.log") == [f"line {number}" for number in range(80, 100)]


def test_the_node_that_failed_has_the_word(tmp_path):
    (tmp_path / "a.log").write_text("said by the leading node")
    (tmp_path / "a.node2.out").write_text("KeyError: said by node2")
    assert tail(tmp_path, "a.log", "node2: exit code 1") == ["KeyError: said by node2"]
    assert tail(tmp_path, "a.log", "node1: exit code 1") == ["said by the leading node"]


def test_a_huge_log_costs_nothing(tmp_path):
    with (tmp_path / "a.log").open("wb") as file:
        file.truncate(3 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"x" * 10_000_000)
    start = time.monotonic()
    assert tail(tmp_path, "a.log") == ["x" * 299 + "…"]
    assert time.monotonic() - start < 1


def test_secrets_are_replaced(tmp_path):
    (tmp_path / "a.log").write_text("export HF_TOKEN=hf_abcdefghijklmnop\n")
    assert tail(tmp_path, "a.log") == ["export HF_TOKEN=[redacted: secret of the environment]"]


@pytest.mark.parametrize("log", ["../secret.log", "/etc/hostname", "x/../../secret.log", "..", ""])
def test_no_file_outside_of_the_folder_is_shown(tmp_path, log):
    (tmp_path / "secret.log").write_text("secret")
    folder = tmp_path / "campaign"
    folder.mkdir()
    assert tail(folder, log) is None
    assert tail(folder, log, "../../secret: x") is None


def test_what_is_no_log_has_no_last_lines(tmp_path):
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "binary.log").write_bytes(bytes(range(256)))
    assert tail(tmp_path, "pipe.log") is None
    assert tail(tmp_path, "gone.log") is None
    assert all(line.isprintable() for line in tail(tmp_path, "binary.log"))


def test_damaged_records_are_left_out(tmp_path):
    plan, _ = campaign({"1n1g": [10.0]})
    good = recorded(plan["cells"][0], 1, 10.0)
    (tmp_path / "logs/1n1g").mkdir(parents=True)
    for name, content in {
        "1n1g/1": good,
        "number": {**good, "log": "b", "repeat": "<1>"},
        "cell": {**good, "log": "c", "cell": {"topology": "2n"}},
        "list": [1, 2],
    }.items():
        (tmp_path / f"logs/{name}.run.json").write_text(json.dumps(content))
    (tmp_path / "plan.json").write_text(json.dumps({"cells": [*plan["cells"], "no cell"]}))
    known, records = plan_and_records(tmp_path)
    assert known == {"cells": plan["cells"]}
    assert [record["log"] for record in records] == [good["log"]]


def test_a_folder_without_a_plan_has_no_commands_and_without_plots_no_plots(tmp_path):
    assert plan_and_records(tmp_path) == ({}, [])
    assert plots(tmp_path) == []
