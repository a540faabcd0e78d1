"""playbooks/archive.yml, reports on its archives, ansible-runner's events; without a cluster."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from playbook_runs import ROOT, run_playbook
from written_logs import write_log


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a playbook through ansible_runner."""

    def runner(playbook: str, *arguments: str, **variables: Any) -> Any:
        given = {"campaign_results_dir": str(tmp_path / "results"), **variables}
        return run_playbook(tmp_path, playbook, *arguments, ident="campaign", **given)

    return runner


@pytest.fixture
def campaign(tmp_path):
    """Return the folder of a campaign like bench.yml's: 1n1g and 2n1g, one repeat each."""
    folder = tmp_path / "results/mine"
    cells = [cell("1n1g"), cell("2n1g")]
    for measured_cell, speed in zip(cells, (24.0, 30.0)):
        log = folder / "logs" / measured_cell["directory"] / "r50_b4_fp32_1.log"
        write_log(log, measured_cell["topology"], speed=speed)
        record = {
            "cell": measured_cell,
            "repeat": 1,
            "log": str(log.relative_to(folder)),
            "ending": "ok",
            "reason": "",
            "seconds": 27.1,
            "oversubscribed": False,
            "facts": {"reader": "scalebench", "unit": "images/s", "throughput": 1.0},
        }
        log.with_suffix(".run.json").write_text(json.dumps(record))
    plan = {"schema": 1, "campaign": "mine", "options": {}, "cells": cells, "nodes": {}}
    (folder / "plan.json").write_text(json.dumps(plan))
    return folder


def cell(topology: str) -> dict[str, Any]:
    nodes = int(topology[0])
    return {
        "benchmark": "pytorch",
        "model": "r50",
        "precision": "fp32",
        "batch_size_per_device": 4,
        "image_size": 32,
        "data": "synthetic",
        "topology": topology,
        "nodes": nodes,
        "devices_per_node": 1,
        "device": "cpu",
        "warmup": 20,
        "iterations": 100,
        "repeats": 1,
        "variant": "bz4",
        "directory": f"pytorch/bz4/{topology}",
        "node_names": ["node1", "node2"][:nodes],
        "oversubscribed": False,
    }


def failed(runner) -> list[dict[str, Any]]:
    return [event["event_data"] for event in runner.events if event["event"] == "runner_on_failed"]


def message(runner) -> str:
    assert runner.rc != 0
    return "\n".join(str(event["res"].get("msg")) for event in failed(runner))


def changed(runner) -> int:
    assert runner.rc == 0, message(runner)
    return sum(runner.stats["changed"].values())


@pytest.fixture
def archived(run, campaign, tmp_path):
    """Return the archive of the reported campaign, without the campaign's own folder."""
    assert run("playbooks/report.yml", campaign="mine").rc == 0
    assert run("playbooks/archive.yml", campaign="mine").rc == 0
    folder = tmp_path / "other machine"
    folder.mkdir()
    for path in tmp_path.glob("results/mine.tar.gz*"):
        shutil.move(path, folder)
    campaign.rename(tmp_path / "kept")
    return folder / "mine.tar.gz"


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_check_mode_archives_nothing_and_a_second_run_changes_nothing(run, campaign, tmp_path):
    given = {"campaign": "mine", "archive_path": str(tmp_path / "out/first.tar.gz")}
    assert changed(run("playbooks/archive.yml", "--check --diff", **given)) == 1
    assert not (tmp_path / "out").exists()
    assert changed(run("playbooks/archive.yml", **given)) == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "first.tar.gz",
        "first.tar.gz.sha256",
    ]
    assert changed(run("playbooks/archive.yml", **given)) == 0


def test_a_report_elsewhere_says_what_the_campaigns_own_says(run, archived, tmp_path):
    given = {"archive": str(archived), "output_dir": str(tmp_path / "there")}
    assert changed(run("playbooks/report.yml", "--check", **given)) == 1
    assert not (tmp_path / "there").exists()
    # Unpacking is the only change: every file of the report comes out the same.
    assert changed(run("playbooks/report.yml", **given)) == 1
    there = files(tmp_path / "there")
    assert {"MANIFEST.json", "SHA256SUMS"} < set(there)
    kept = files(tmp_path / "kept")
    assert {name: there[name] for name in kept} == kept
    assert changed(run("playbooks/report.yml", **given)) == 0


def test_an_archive_that_differs_is_refused_with_the_file(run, archived, tmp_path):
    whole = bytearray(archived.read_bytes())
    whole[len(whole) // 2] ^= 1
    archived.write_bytes(whole)
    given = {"archive": str(archived), "output_dir": str(tmp_path / "there")}
    assert "mine.tar.gz: it differs from its checksum" in message(
        run("playbooks/report.yml", **given)
    )
    assert not (tmp_path / "there").exists()


def test_a_secret_in_the_plan_is_refused_with_its_place(run, campaign):
    plan = json.loads((campaign / "plan.json").read_text())
    plan["cells"][0]["commands"] = {"node1": {"env": {"WANDB_API_KEY": "0123abcd"}}}
    (campaign / "plan.json").write_text(json.dumps(plan, indent=1))
    error = message(run("playbooks/archive.yml", campaign="mine"))
    assert "plan.json line" in error
    assert "secret of the environment" in error
    assert "0123abcd" not in error
    assert not list(campaign.parent.glob("*.tar.gz*"))


@pytest.mark.parametrize(
    ("playbook", "given", "expected"),
    [
        ("archive.yml", {}, "Name the campaign to archive"),
        ("archive.yml", {"campaign": "yours"}, "no campaign yours in"),
        ("report.yml", {"archive": "/nowhere/a.tar.gz"}, "/nowhere/a.tar.gz: No such file"),
        ("report.yml", {"archive": "a.tar.gz", "campaign": "x"}, "one of the three"),
        (
            "report.yml",
            {"archive": str(ROOT / "README.md")},
            "README.md is damaged, or not an archive",
        ),
    ],
)
def test_bad_input_ends_with_what_to_do(run, playbook, given, expected):
    assert expected in message(run(f"playbooks/{playbook}", **given))


def outcome(runner) -> str:
    """Return the outcome of a campaign from its events, as docs/evidence.md describes."""
    roles = {event.get("role") for event in failed(runner)}
    if not roles:
        return "ok"
    return "failed repeats" if roles == {"gate"} else "Ansible failed"


def test_the_runner_has_each_of_our_callbacks_once(run, campaign):
    """They give back nodes and jobs. ansible_runner overrides callback_plugins of ansible.cfg."""
    said = run("playbooks/archive.yml", "--check", "-vvvv", campaign="mine").stdout.read()
    loaded = re.findall(r"Loading callback plugin (claims|allocations|prefork) ", said)
    assert sorted(loaded) == ["allocations", "claims", "prefork"]


def test_runner_keeps_the_events_and_they_tell_what_failed(run, campaign, tmp_path):
    playbook = "tests/integration/playbooks/report_and_gate.yml"
    given = {"report_campaign_dir": str(campaign), "report_plots": False}
    good = run(playbook, **given)
    record = next(campaign.glob("logs/pytorch/bz4/2n1g/*.run.json"))
    ended = {**json.loads(record.read_text()), "ending": "stalled", "reason": "no output for 9 s"}
    record.write_text(json.dumps({**ended, "facts": None}))
    one_repeat_failed = run(playbook, **given)
    broken = run(playbook, **{**given, "report_campaign_dir": str(tmp_path / "nothing")})
    runs = (good, one_repeat_failed, broken)
    assert [outcome(runner) for runner in runs] == ["ok", "failed repeats", "Ansible failed"]
    assert [runner.rc for runner in runs] == [0, 2, 2]
    for number, runner in enumerate(runs):
        folder = tmp_path / f"runner/{number}/artifacts/campaign"
        events = [json.loads(path.read_text()) for path in folder.glob("job_events/*.json")]
        assert len(events) == len(list(runner.events)) > 3
        assert {event["event"] for event in events} > {"playbook_on_start", "playbook_on_stats"}
        assert (folder / "rc").read_text() == str(runner.rc)
    assert "no output for 9 s" in message(one_repeat_failed)
