"""playbooks/history.yml over campaigns whose results were computed from real files."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playbook_runs import ROOT, run_playbook
from written_logs import write_log

DAYS = 12
SLOWER_FROM = 8
FILES = ("history.html", "history.md", "history.csv", "history.json")


def messages(runner) -> str:
    return "\n".join(
        str(event["event_data"]["res"].get("msg"))
        for event in runner.events
        if event["event"] in ("runner_on_ok", "runner_on_failed")
    )


def changed(runner) -> int:
    assert runner.rc == 0, messages(runner)
    return sum((runner.stats or {})["changed"].values())


def write_campaign(folder: Path, day: int, speed: float, kernel: str) -> None:
    """Write plan, run records and logs of a campaign with two repeats on one node."""
    cell = {
        **{"benchmark": "pytorch", "recipe": "portable", "model": "r50", "precision": "fp32"},
        **{"batch_size_per_device": 4, "xla": False, "data": "synthetic", "image_size": 32},
        **{"data_backend": "native", "topology": "1n1g", "nodes": 1, "devices_per_node": 1},
        **{"device": "cpu", "warmup": 5, "iterations": 20, "repeats": 2, "variant": "bz4"},
        **{"directory": "pytorch/bz4/1n1g", "node_names": ["node1"]},
    }
    for repeat in (1, 2):
        log = folder / "logs" / cell["directory"] / f"r50_b4_fp32_{repeat}.log"
        write_log(log, speed=speed, iterations=25)
        record = {
            **{"schema": 1, "campaign": folder.name, "cell": cell, "repeat": repeat},
            **{"log": str(log.relative_to(folder)), "ending": "ok", "reason": "", "seconds": 9.5},
            **{"oversubscribed": False, "facts": None},
        }
        log.with_suffix(".run.json").write_text(json.dumps(record))
    node = {"machine_id": "m", "cores": 2, "gpus": [], "cpu_model": "EPYC", "kernel": kernel}
    plan = {
        **{"schema": 1, "campaign": folder.name, "created": f"2026-11-{day:02}T02:45:00Z"},
        **{"options": {}, "cells": [cell], "nodes": {"node1": node}},
    }
    (folder / "plan.json").write_text(json.dumps(plan))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return a folder of daily campaigns that become 8 % slower with a new kernel."""
    tmp_path = tmp_path_factory.mktemp("history")
    results = tmp_path / "results"
    generator = random.Random(2)
    for day in range(1, DAYS + 1):
        slower = day > SLOWER_FROM
        speed = generator.gauss(24.0, 0.2) * (0.92 if slower else 1)
        kernel = "6.12" if slower else "6.1"
        write_campaign(results / f"c{day:02}", day, speed, kernel)
    campaigns = sorted(path.name for path in results.iterdir())
    # One playbook computes the results of all campaigns, to save time.
    playbook = tmp_path / "report_all.yml"
    playbook.write_text(
        json.dumps(
            [
                {
                    "hosts": "localhost",
                    "gather_facts": False,
                    "tasks": [
                        {
                            "scaling_report": {
                                "campaign_dir": f"{results}/{name}",
                                "templates": [str(ROOT / "roles/report/templates")],
                                "plots": False,
                            }
                        }
                        for name in campaigns
                    ],
                }
            ]
        )
    )
    assert changed(run_playbook(tmp_path, str(playbook))) == DAYS
    return results


@pytest.fixture
def history(tmp_path, measured):
    """Return a function that runs history.yml with an output folder in tmp_path."""

    def run(*arguments: str, **variables: Any) -> Any:
        given = {
            "campaign_results_dir": str(measured),
            "output_dir": str(tmp_path / "history"),
            **variables,
        }
        return run_playbook(tmp_path, "playbooks/history.yml", *arguments, **given)

    return run


def test_the_drop_is_found_with_what_changed(history, tmp_path):
    runner = history()
    assert changed(runner) == 1
    data = json.loads((tmp_path / "history/history.json").read_text())
    (trend,) = data["trends"]
    assert [point["campaign"] for point in trend["points"]] == [
        f"c{day:02}" for day in range(1, DAYS + 1)
    ]
    (change,) = trend["changes"]
    assert change["campaign"] == f"c{SLOWER_FROM + 1:02}"
    assert change["after"] / change["before"] == pytest.approx(0.92, abs=0.02)
    text = (tmp_path / "history/history.md").read_text()
    assert "kernel from 6.1 to 6.12 on node1" in text
    rows = list(csv.DictReader((tmp_path / "history/history.csv").open()))
    assert [row["change"] for row in rows].index("1") == SLOWER_FROM
    ElementTree.parse(tmp_path / "history" / trend["plot"])
    printed = messages(runner)
    assert "2026-11-09" in printed
    assert f"History: {tmp_path}/history/history.html" in printed
    table = [line for line in printed.splitlines() if line.startswith("|")]
    assert table and all(len(line) <= 100 for line in table)
    assert changed(history()) == 0


def test_check_mode_writes_nothing_and_the_diff_is_shown(history, tmp_path):
    runner = history("--check --diff")
    assert changed(runner) == 1
    assert not (tmp_path / "history").exists()
    diffs = [
        diff["after_header"]
        for event in runner.events
        if event["event"] == "runner_on_ok"
        for diff in event["event_data"]["res"].get("diff") or ()
    ]
    assert {Path(name).name for name in diffs} >= set(FILES)


def test_plots_of_an_earlier_history_are_removed_and_nothing_else(history, tmp_path):
    folder = tmp_path / "history"
    assert changed(history()) == 1
    kept = {path.name for path in folder.iterdir()}
    stale = folder / "trend-pytorch-fp32-bz8-4n1g-0123abcd.svg"
    for path in (stale, folder / "trend-mine.svg", folder / "notes.svg"):
        path.write_text("<svg/>")
    checked = history("--check --diff")
    assert changed(checked) == 1
    assert stale.exists()
    assert str(stale) in json.dumps([event["event_data"].get("res") for event in checked.events])
    assert changed(history()) == 1
    assert {path.name for path in folder.iterdir()} == {*kept, "trend-mine.svg", "notes.svg"}
    # Without plots, the files of plots are removed and the page has none.
    assert changed(history(history_plots=False)) == 1
    assert sorted(path.name for path in folder.glob("*.svg")) == ["notes.svg", "trend-mine.svg"]
    assert "<svg" not in (folder / "history.html").read_text()


def test_unreadable_results_are_listed_and_change_nothing_else(history, measured, tmp_path):
    results = tmp_path / "some"
    for name in ("c01", "c02", "c03"):
        (results / name).mkdir(parents=True)
        text = (measured / name / "results.json").read_text()
        (results / name / "results.json").write_text(text)
    newer = json.loads(text)
    newer["schema"] = 99
    for name, content in {
        "broken": "{half",
        "copy": text,
        "newer": json.dumps(newer),
        "foreign": '{"a": 1}',
    }.items():
        (results / name).mkdir()
        (results / name / "results.json").write_text(content)
    (results / "running").mkdir()
    (results / "running/plan.json").write_text("{}")
    (results / "notes").mkdir()
    assert changed(history(campaign_results_dir=str(results), history_plots=False)) == 1
    data = json.loads((tmp_path / "history/history.json").read_text())
    assert data["campaigns"] == 3
    reasons = {entry["folder"]: entry["reason"] for entry in data["left_out"]}
    assert set(reasons) == {"broken", "copy", "newer", "foreign", "running"}
    assert "it is not a results.json: Expecting" in reasons["broken"]
    assert "the same campaign as in c03" in reasons["copy"]
    assert "schema 99" in reasons["newer"]
    assert "has no schema" in reasons["foreign"]
    assert "-e campaign=running" in reasons["running"]
    assert "- newer: it has schema 99" in (tmp_path / "history/history.md").read_text()
    assert not list((tmp_path / "history").glob("*.svg"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"topology": "4n8g"}, "no campaign has topology 4n8g: there are 1n1g"),
        ({"precision": "fp32, amp"}, "no campaign has precision amp: there are fp32"),
        ({"precision": ["amp"]}, "no campaign has precision amp: there are fp32"),
        ({"campaign_precision": "amp"}, "-e campaign_precision: "),
        ({"history_select": {"colour": ["red"]}}, "cannot select by 'colour'"),
        ({"campaign_results_dir": "/nowhere"}, "/nowhere: cannot be read: No such file"),
        ({"campaign_results_dir": str(ROOT / "docs")}, "no campaign with results there"),
    ],
)
def test_bad_input_ends_with_what_to_do(history, tmp_path, given, expected):
    runner = history(**given)
    assert runner.rc != 0
    assert expected in messages(runner)
    assert not (tmp_path / "history").exists()


def test_options_of_campaigns_in_an_inventory_select_nothing(history, tmp_path):
    (tmp_path / "inventory/group_vars").mkdir(parents=True)
    (tmp_path / "inventory/hosts.yml").write_text("nodes: {hosts: {node1: {}}}")
    (tmp_path / "inventory/group_vars/all.yml").write_text("precision: [amp]")
    assert changed(history(f"-i {tmp_path}/inventory/hosts.yml", history_plots=False)) == 1
    (trend,) = json.loads((tmp_path / "history/history.json").read_text())["trends"]
    assert trend["conditions"]["precision"] == "fp32"


def test_the_files_for_other_programs_are_beside_the_results(measured):
    folder = measured / "c01"
    root = ElementTree.parse(folder / "junit.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "0", "0")
    text = (folder / "scalebench.prom").read_text()
    assert 'scalebench_campaign_info{campaign="c01",schema="3"} 1' in text
