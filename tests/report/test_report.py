"""playbooks/report.yml on real files: campaigns, trees of logs, invalid and damaged input."""

from __future__ import annotations

import csv
import json
import os
import re
import statistics
from pathlib import Path
from typing import Any

import numpy
import pytest
from playbook_runs import ROOT, run_playbook
from written_logs import write_log, write_tree

SPEEDS = {"1n1g": 24.0, "2n1g": 44.0, "16n1g": 300.0}


@pytest.fixture
def report(tmp_path):
    """Return a function that runs report.yml and returns its runner."""

    def run(*arguments: str, playbook: str = "playbooks/report.yml", **variables: Any) -> Any:
        given = {"report_output_dir": str(tmp_path / "result"), **variables}
        return run_playbook(tmp_path, playbook, *arguments, **given)

    return run


def output_of(runner) -> str:
    """Return the messages that the run printed for the user."""
    return "\n".join(
        str(event["event_data"]["res"].get("msg"))
        for event in runner.events
        if event["event"] == "runner_on_ok" and event["event_data"]["task_action"].endswith("debug")
    )


def failure(runner) -> str:
    assert runner.rc != 0
    return "\n".join(
        str(event["event_data"]["res"].get("msg"))
        for event in runner.events
        if event["event"] == "runner_on_failed"
    )


def changed(runner) -> int:
    assert runner.rc == 0, failure(runner)
    return sum(runner.stats["changed"].values())


def written(runner) -> dict[str, Any]:
    """Return what the task that writes the report returned."""
    (found,) = [
        event["event_data"]["res"]
        for event in runner.events
        if event["event"] == "runner_on_ok"
        and event["event_data"]["task_action"] == "scaling_report"
    ]
    return found


def paths(runner) -> list[str]:
    return written(runner)["paths"]


def results_in(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "results.json").read_text())


def by_hand(speeds: list[list[float]]) -> tuple[float, float]:
    """Return average and median by the reference method, computed with numpy."""
    repeats = [numpy.round(numpy.mean(log[20:120]), 2) for log in speeds]
    average, median = numpy.round(numpy.mean(repeats), 2), numpy.round(numpy.median(repeats), 2)
    return float(average), float(median)


@pytest.mark.parametrize("slash", ["", "/"])
def test_tree_of_one_group_gives_the_reference_json(report, tmp_path, slash):
    tree = tmp_path / "logs/pytorch/bz4"
    written = write_tree(tree, SPEEDS)
    runner = report(log_dir=f"{tree}{slash}")
    assert changed(runner) == 1
    facts = json.loads((tmp_path / "result/bz4_result.json").read_text())
    assert list(facts) == ["r50"]
    assert list(facts["r50"]) == ["1n1g", "2n1g", "16n1g"]
    base = by_hand(written["1n1g"])[1]
    for topology, speeds in written.items():
        average, median = by_hand(speeds)
        assert facts["r50"][topology] == {
            "average_speed": average,
            "batch_size_per_device": 4,
            "median_speed": median,
            "speedup": float(numpy.round(median / base, 2)),
        }
    first = numpy.round(numpy.mean(written["1n1g"][0][20:120]), 2)
    printed = output_of(runner)
    assert f"{tree}/1n1g/r50_b4_fp32_1.log {{1: {first}}}" in printed
    assert f"Saving result to {tmp_path}/result/bz4_result.json" in printed
    assert "{'r50': {'16n1g': {'average_speed': " in printed


def test_mixed_tree_keeps_precisions_and_variants_apart(report, tmp_path):
    tree = tmp_path / "logs"
    write_tree(tree / "pytorch/bz4", {"1n1g": 20.0, "2n1g": 30.0})
    write_tree(tree / "pytorch/bz4", {"1n1g": 50.0, "2n1g": 99.0}, precision="amp")
    write_tree(tree / "pytorch/bz4-xla", {"1n1g": 25.0}, repeats=6)
    write_tree(tree / "deep/er/pytorch/bz8", {"2n2g": 70.0}, batch=8)
    write_log(tree / "net_bs4_pure_fp16_DP_N1C8_log", "1n8g", precision="pure_fp16")
    (tree / "notes.txt").write_text("not a log")
    runner = report(log_dir=str(tree))
    assert runner.rc == 0
    facts = json.loads((tmp_path / "result/logs_result.json").read_text())
    assert sorted(facts) == ["deep/er/pytorch", "logs", "pytorch"]
    assert sorted(facts["pytorch"]["fp32"]) == ["bz4", "bz4-xla"]
    assert 1.4 < facts["pytorch"]["fp32"]["bz4"]["r50"]["2n1g"]["speedup"] < 1.6
    assert 1.9 < facts["pytorch"]["amp"]["bz4"]["r50"]["2n1g"]["speedup"] < 2.1
    assert facts["deep/er/pytorch"]["fp32"]["bz8"]["r50"]["2n2g"]["speedup"] is None
    assert list(facts["logs"]["pure_fp16"]["bz4"]["net"]) == ["1n8g"]
    results = results_in(tmp_path / "result")
    assert [item["path"] for item in results["unmatched"]] == ["notes.txt"]
    assert "notes.txt" in (tmp_path / "result/report.md").read_text()
    lone = next(cell for cell in results["cells"] if cell["topology"] == "2n2g")
    assert "no speed of 1n1g" in lone["speedup_reason"]


def test_report_files_say_the_same(report, tmp_path):
    written = write_tree(tmp_path / "logs/bz4", SPEEDS)
    assert report(log_dir=str(tmp_path / "logs")).rc == 0
    folder = tmp_path / "result"
    medians = {topology: by_hand(speeds)[1] for topology, speeds in written.items()}
    rows = list(csv.DictReader((folder / "results.csv").open()))
    assert {row["topology"]: float(row["median_speed"]) for row in rows} == medians
    text = (folder / "report.md").read_text()
    for median in medians.values():
        assert f"{median:.2f} |" in text
        assert f"{median:.2f}" in (folder / "throughput.svg").read_text()
    assert "](throughput.svg)" in text
    assert "](speedup.svg)" in text


def test_second_run_changes_nothing_and_check_mode_writes_nothing(report, tmp_path):
    write_tree(tmp_path / "logs/bz4", {"1n1g": 24.0})
    given = {"log_dir": str(tmp_path / "logs")}
    checked = report("--check --diff", **given)
    assert changed(checked) == 1
    assert len(paths(checked)) == 10
    assert not (tmp_path / "result").exists()
    assert changed(report(**given)) == 1
    before = {path: path.read_bytes() for path in (tmp_path / "result").iterdir()}
    assert len(before) == 10
    assert changed(report(**given)) == 0
    assert changed(report("--check", **given)) == 0
    (tmp_path / "result/results.csv").write_text("spoilt")
    runner = report(**given)
    assert changed(runner) == 1
    assert paths(runner) == [str(tmp_path / "result/results.csv")]
    assert before == {path: path.read_bytes() for path in (tmp_path / "result").iterdir()}


def test_pngs_are_there_while_they_are_asked_for(report, tmp_path):
    write_tree(tmp_path / "logs/bz4", {"1n1g": 24.0, "2n1g": 44.0})
    given = {"log_dir": str(tmp_path / "logs"), "report_output_dir": str(tmp_path / "logs")}
    runner = report("--diff", **given, png=True)
    assert changed(runner) == 1
    drawn = written(runner)
    assert any(one["after"].endswith("bytes that are not text\n") for one in drawn["diff"])
    pngs = sorted((tmp_path / "logs").glob("*.png"))
    assert [path.stem for path in pngs] == ["efficiency", "speedup", "throughput"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pngs)
    # The reports are in the same folder as the logs but are not read as logs.
    assert changed(report(**given, png=True)) == 0
    checked = report("--check", **given)
    assert changed(checked) == 1
    assert (paths(checked), len(written(checked)["removed"])) == ([], 3)
    assert sorted((tmp_path / "logs").glob("*.png")) == pngs
    assert changed(report(**given)) == 1
    assert not list((tmp_path / "logs").glob("*.png"))
    assert results_in(tmp_path / "logs")["unmatched"] == []


def test_another_strategy(report, tmp_path):
    speeds = write_log(tmp_path / "logs/1n1g/r50_b4_fp32_1.log")
    runner = report(log_dir=str(tmp_path / "logs"), strategy="median")
    assert runner.rc == 0
    (cell,) = results_in(tmp_path / "result")["cells"]
    assert cell["median_speed"] == pytest.approx(statistics.median(speeds), abs=0.006)
    assert "`median`" in (tmp_path / "result/report.md").read_text()


def test_what_is_wrong_with_a_log_is_its_result(report, tmp_path):
    tree = tmp_path / "logs/bz4"
    write_tree(tree, {"1n1g": 24.0}, repeats=1)
    write_log(tree / "2n1g/r50_b4_fp32_1.log", "1n1g")  # another world size
    write_log(tree / "2n1g/r50_b4_fp32_2.log", "2n1g", batch=8)  # another batch size
    write_log(tree / "2n1g/r50_b4_fp32_3.log", "2n1g", iterations=30)  # too short
    write_log(tree / "2n1g/r50_b4_fp32_4.log", "2n1g", precision="amp")
    write_log(tree / "2n1g/r50_b4_fp32_5.log", "2n1g", model="vgg16")
    (tree / "2n1g/r50_b4_fp32_6.log").write_bytes(b"")
    (tree / "2n1g/r50_b4_fp32_7.log").symlink_to("nowhere")
    os.mkfifo(tree / "2n1g/r50_b4_fp32_8.log")
    (tree / "2n1g/r50_b4_fp32_9.log").write_text("Traceback (most recent call last):\nOSError: x\n")
    runner = report(log_dir=str(tmp_path / "logs"))
    assert runner.rc == 0
    good, bad = results_in(tmp_path / "result")["cells"]
    assert (good["state"], bad["state"]) == ("measured", "failed")
    reasons = {failure["repeat"]: failure["reason"] for failure in bad["failures"]}
    expected = {
        1: "world_size 1, expected 2",
        2: "batch_size_per_device 8, expected 4",
        3: "30 observations",
        4: "precision amp, expected fp32",
        5: "model vgg16",
        6: "empty",
        7: "No such file",
        8: "not a regular file",
        9: "OSError: x",
    }
    assert sorted(reasons) == sorted(expected)
    for repeat, words in expected.items():
        assert words in reasons[repeat], repeat
    printed = output_of(runner)
    assert "r50_b4_fp32_7.log invalid: No such file" in printed
    text = (tmp_path / "result/report.md").read_text()
    assert re.search(r"\| invalid +\| not a regular file +\| bz4/2n1g/r50_b4_fp32_8\.log \|", text)
    junit = (tmp_path / "result/junit.xml").read_text()
    assert "Traceback (most recent call last):\nOSError: x" in junit, "its last lines"
    facts = json.loads((tmp_path / "result/logs_result.json").read_text())
    assert facts["r50"]["2n1g"]["median_speed"] is None
    assert facts["r50"]["1n1g"]["speedup"] == 1.0


def test_every_log_failed_is_a_report_too(report, tmp_path):
    write_log(tmp_path / "logs/1n1g/r50_b4_fp32_1.log", iterations=3)
    runner = report(log_dir=str(tmp_path / "logs"))
    assert runner.rc == 0
    assert results_in(tmp_path / "result")["counts"]["ok"] == 0
    assert "no throughput was measured" in (tmp_path / "result/throughput.svg").read_text()


@pytest.mark.parametrize(
    ("path", "given", "message"),
    [
        ("logs", {}, "the folder is empty"),
        ("logs/notes.txt", {}, "none of its 1 files is a log by its name. notes.txt: "),
        (None, {}, "is not there"),
        ("logs/x.log", {"log_dir": "logs/x.log"}, "is a file, not a folder"),
        ("logs", {"log_dir": "", "campaign": ""}, "Set exactly one of the three"),
        ("logs", {"campaign": "x"}, "Set exactly one of the three"),
        ("logs", {"log_dir": "", "campaign": "x", "output_dir": "y"}, "output_dir=DIR goes with"),
        ("logs/1n1g/r50_b4_fp32_1.log", {"strategy": "medain"}, "no strategy named 'medain'"),
        (
            "logs/1n1g/r50_b4_fp32_1.log",
            {"report_parameters": {"warmpu": 3}},
            "no parameter 'warmpu'",
        ),
        (
            "logs/1n1g/r50_b4_fp32_1.log",
            {"warmup": "1"},
            '-e \'{"report_parameters": {"warmup": NUMBER}}\'',
        ),
    ],
)
def test_bad_input_ends_with_what_to_do(report, tmp_path, path, given, message):
    if path == "logs":
        (tmp_path / path).mkdir()
    elif path:
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("x")
    log_dir = str(tmp_path / given["log_dir"]) if given.get("log_dir") else given.get("log_dir")
    given = {"log_dir": str(tmp_path / "logs"), **given}
    if log_dir is not None:
        given["log_dir"] = log_dir
    assert message in failure(report(**given))
    assert not (tmp_path / "result").exists()


@pytest.fixture
def campaign(tmp_path):
    """Return the folder of a campaign like bench.yml's: 1n1g and 2n1g, three repeats each."""
    folder = tmp_path / "results/mine"
    cells = []
    for topology, speed in {"1n1g": 24.0, "2n1g": 30.0}.items():
        nodes = int(topology[0])
        cell = {
            "benchmark": "pytorch",
            "recipe": "portable",
            "model": "r50",
            "precision": "fp32",
            "batch_size_per_device": 4,
            "xla": False,
            "data": "synthetic",
            "data_backend": "native",
            "image_size": 32,
            "topology": topology,
            "nodes": nodes,
            "devices_per_node": 1,
            "device": "cpu",
            "warmup": 20,
            "iterations": 100,
            "repeats": 3,
            "variant": "bz4",
            "directory": f"pytorch/bz4/{topology}",
            "node_names": ["node1", "node2"][:nodes],
            "oversubscribed": nodes > 1,
        }
        cells.append(cell)
        for repeat in (1, 2, 3):
            log = folder / "logs" / cell["directory"] / f"r50_b4_fp32_{repeat}.log"
            write_log(log, topology, speed=speed)
            record = {
                "schema": 1,
                "campaign": "mine",
                "cell": cell,
                "repeat": repeat,
                "log": str(log.relative_to(folder)),
                "ending": "ok",
                "reason": "",
                "seconds": 27.1,
                "oversubscribed": cell["oversubscribed"],
                "facts": {"reader": "scalebench", "unit": "images/s", "throughput": 1.0},
            }
            log.with_suffix(".run.json").write_text(json.dumps(record))
            log.with_name(f"{log.stem}.node2.txt").write_text("output of node2")
    node = {"hostname": "vm", "machine_id": "m", "cores": 2, "gpus": [], "cpu_model": "EPYC"}
    plan = {
        "schema": 1,
        "campaign": "mine",
        "created": "2026-11-21T02:45:00Z",
        "options": {"precision": ["fp32"]},
        "cells": cells,
        "nodes": {"node1": node, "node2": node},
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    return folder


@pytest.mark.parametrize(
    ("name", "option"), [("basline", "baseline"), ("campain", "campaign"), ("logdir", "log_dir")]
)
def test_a_misspelt_variable_is_refused_before_anything_is_written(report, campaign, name, option):
    given = {"campaign": "mine", "campaign_results_dir": str(campaign.parent), name: "x"}
    runner = report(**given)
    assert runner.rc != 0
    assert f"-e {name}: there is no option '{name}'; did you mean '{option}'?" in failure(runner)
    assert not (campaign / "report.md").exists()


def test_a_factor_that_only_campaigns_read_is_refused(report, campaign):
    runner = report(campaign="mine", campaign_results_dir=str(campaign.parent), sequence_length=128)
    assert runner.rc != 0
    assert "-e sequence_length: only playbooks that run a campaign read it" in failure(runner)


def test_campaign_by_its_name(report, campaign):
    runner = report(campaign="mine", campaign_results_dir=str(campaign.parent))
    assert changed(runner) == 1
    results = results_in(campaign)
    assert results["counts"]["ok"] == 6
    assert not results["unmatched"]
    single, double = results["cells"]
    # From the logs, not from the records, which have 1.0.
    assert single["median_speed"] == pytest.approx(24, rel=0.02)
    assert double["speedup"] == pytest.approx(1.25, abs=0.03)
    assert (single["oversubscribed"], double["oversubscribed"]) == (False, True)
    text = (campaign / "report.md").read_text()
    assert "2n1g: oversubscribed." in text
    assert r"node\[1-2\] are one machine" in text
    assert "EPYC" in text
    assert "| oversubscribed |" in output_of(runner)
    assert f"Report: {campaign}/report.html\n        {campaign}/report.md" in output_of(runner)
    assert changed(report(campaign="mine", campaign_results_dir=str(campaign.parent))) == 0


def test_damaged_campaign_is_reported_as_far_as_it_goes(report, campaign):
    place = campaign / "logs/pytorch/bz4/2n1g"
    (place / "r50_b4_fp32_1.run.json").write_text("{half a rec")
    (place / "r50_b4_fp32_2.log").unlink()
    (place / "r50_b4_fp32_9.log").write_text("cut off")
    record = json.loads((place / "r50_b4_fp32_3.run.json").read_text())
    record.update(ending="stalled", reason="no output for 300 s", facts=None)
    (place / "r50_b4_fp32_3.run.json").write_text(json.dumps(record))
    assert report(report_campaign_dir=str(campaign)).rc == 0
    results = results_in(campaign)
    two = results["cells"][1]
    assert two["state"] == "partial"
    assert two["not_run"] == [1]
    assert two["median_speed"] == 1.0, "the log is gone, the record's figure counts"
    assert two["failures"][0]["reason"] == "no output for 300 s"
    reasons = {Path(item["path"]).name: item["reason"] for item in results["unmatched"]}
    assert "cannot be read" in reasons["r50_b4_fp32_1.run.json"]
    assert "r50_b4_fp32_1.log" not in reasons
    assert "the repeat did not end" in reasons["r50_b4_fp32_9.log"]
    assert "gone" in reasons["r50_b4_fp32_2.log"]


@pytest.mark.parametrize("text", [None, "[1, 2", '{"cells": [{"topology": "2n"}]}', "[]"])
def test_campaign_without_a_readable_plan_still_has_its_records(report, campaign, text):
    (campaign / "plan.json").unlink()
    if text:
        (campaign / "plan.json").write_text(text)
    assert report(report_campaign_dir=str(campaign), report_plots=False).rc == 0
    results = results_in(campaign)
    assert results["counts"]["ok"] == 6
    assert [item["path"] for item in results["unmatched"]] == ["plan.json"]


def test_unknown_campaign_names_those_there_are(report, campaign):
    message = failure(report(campaign="yours", campaign_results_dir=str(campaign.parent)))
    assert "no campaign yours in" in message
    assert "there are mine" in message


def test_facts_serve_later_plays(report, campaign, tmp_path):
    playbook = tmp_path / "own.yml"
    playbook.write_text(
        f"""
- import_playbook: {ROOT}/playbooks/report.yml
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.assert:
        that:
          - scalebench_facts.pytorch.fp32.bz4.r50['2n1g'].speedup > 1.1
          - scalebench_facts.pytorch.fp32.bz4.r50['1n1g'].batch_size_per_device == 4
          - scalebench_table is search('gpu_num')
          - scalebench_report is exists
"""
    )
    runner = report(playbook=str(playbook), report_campaign_dir=str(campaign))
    assert runner.rc == 0, failure(runner)


def test_campaign_that_packed_retried_and_was_disturbed(report, campaign):
    records = sorted(campaign.glob("logs/**/*.run.json"))
    for path in records:
        record = json.loads(path.read_text())
        record.update(schema=2, kind="measured", attempt=1, packed_with=["logs/other.log"])
        record["disturbances"] = []
        if path == records[0]:
            what = {"kind": "steal", "node": "node1", "detail": "3.0 CPU seconds were stolen"}
            record["disturbances"] = [what]
        path.write_text(json.dumps(record))
    place = campaign / "logs/pytorch/bz4/1n1g"
    write_log(place / "r50_b4_fp32_1_alone.log", "1n1g", speed=26.0)
    record = json.loads((place / "r50_b4_fp32_1.run.json").read_text())
    log = "logs/pytorch/bz4/1n1g/r50_b4_fp32_1_alone.log"
    alone = {**record, "kind": "alone", "log": log, "packed_with": [], "disturbances": []}
    (place / "r50_b4_fp32_1_alone.run.json").write_text(json.dumps(alone))
    runner = report(report_campaign_dir=str(campaign), report_plots=False)
    assert runner.rc == 0, failure(runner)
    results = results_in(campaign)
    assert results["counts"]["ok"] == 6, "the one alone is no repeat of its cell"
    assert results["interference"]["n"] == 1
    assert results["interference"]["median"] == pytest.approx(24 / 26, rel=0.02)
    text = (campaign / "report.md").read_text()
    assert "## Packing" in text
    assert "- packing=none: 6 of 6 repeats ran at the same time as others" in text
    assert "node1: `3.0 CPU seconds were stolen`" in text
    assert "a repeat invalid if they fail: The throughput is a finite number" in text
    printed = output_of(runner)
    assert "1 of 6 repeats were disturbed: steal on node1" in printed
    assert all(len(line) <= 100 for line in printed.splitlines() if "/report." not in line)


GOOD = {
    "kind": "ok",
    "failures": [],
    "broken_rules": [],
    "unshown_rules": [],
    "undecided_rules": [],
}


def outcome(runner) -> dict[str, Any] | None:
    """Return the outcome that the role gate recorded in the events."""
    (stats,) = [event for event in runner.events if event["event"] == "playbook_on_stats"]
    return stats["event_data"]["artifact_data"].get("scalebench_outcome")


def test_gate_tells_failed_repeats_from_a_failed_task(report, campaign, tmp_path):
    gate = {
        "playbook": "tests/integration/playbooks/report_and_gate.yml",
        "report_campaign_dir": str(campaign),
        "report_plots": False,
    }
    good = report(**gate)
    assert good.rc == 0, failure(good)
    assert outcome(good) == GOOD
    assert "scalebench_outcome" not in good.stdout.read()
    path = campaign / "logs/pytorch/bz4/2n1g/r50_b4_fp32_3.run.json"
    record = json.loads(path.read_text())
    record.update(ending="crashed", reason="node2: exit code 1: no route", facts=None)
    path.write_text(json.dumps(record))
    failed = report(**gate)
    assert failed.rc != 0
    recorded = outcome(failed)
    assert recorded["kind"] == "failed_repeats"
    assert [entry["ending"] for entry in recorded["failures"]] == ["crashed"]
    line = "logs/pytorch/bz4/2n1g/r50_b4_fp32_3.log: crashed: node2: exit code 1: no route"
    assert line in [line.strip() for line in failure(failed).splitlines()]
    assert "-e campaign=mine" in failure(failed)
    assert report(**{**gate, "gate_failed_repeats": False}).rc == 0
    broken = report(**{**gate, "report_campaign_dir": str(tmp_path / "nothing")})
    assert broken.rc != 0
    assert outcome(broken) is None
