"""What the actions do that pack, compare and report campaigns."""

import json
import os
import subprocess
import sys

import pytest
from action_calls import SPEEDS, TEMPLATES, report, result
from ansible.errors import AnsibleActionFail
from campaign_data import ROOT
from written_campaigns import fail_repeat, write_campaign
from written_logs import write_tree

from action_plugins import (
    campaign_archive,
    campaign_history,
    campaign_unarchive,
    comparison_check,
    scaling_report,
)


@pytest.fixture
def campaign(tmp_path):
    return write_campaign(tmp_path / "results" / "first", SPEEDS, repeats=3)


def test_a_campaign_is_packed_once_and_unpacked_once(tmp_path, campaign):
    packed = tmp_path / "results" / "first.tar.gz"
    assert result(campaign_archive, {"directory": str(campaign)}, check=True)["changed"]
    assert not packed.exists()
    assert result(campaign_archive, {"directory": str(campaign)})["changed"]
    assert not result(campaign_archive, {"directory": str(campaign)})["changed"]
    named = tmp_path / "mine.tgz"
    result(campaign_archive, {"directory": str(campaign), "path": str(named)})
    assert named.read_bytes() == packed.read_bytes()
    args = {"archive": str(packed), "directory": str(tmp_path / "there")}
    wanted = {"campaign": "first", "directory": str(tmp_path / "there")}
    checked = result(campaign_unarchive, args, check=True)
    assert {key: checked[key] for key in wanted} == wanted and checked["changed"]
    assert not (tmp_path / "there").exists()
    assert result(campaign_unarchive, args)["changed"]
    assert (tmp_path / "there/plan.json").read_bytes() == (campaign / "plan.json").read_bytes()
    assert not result(campaign_unarchive, args)["changed"]


def test_an_archive_that_was_damaged_since_it_was_unpacked_is_refused(tmp_path, campaign):
    packed, there = tmp_path / "results/first.tar.gz", str(tmp_path / "there")
    result(campaign_archive, {"directory": str(campaign)})
    packed.with_name("first.tar.gz.sha256").unlink()
    result(campaign_unarchive, {"archive": str(packed), "directory": there})
    content = packed.read_bytes()
    packed.write_bytes(content[:-2000] + bytes(2000))
    with pytest.raises(AnsibleActionFail, match=r"first\.tar\.gz: .*(damaged|differs)"):
        result(campaign_unarchive, {"archive": str(packed), "directory": there})


def test_a_report_shows_no_secret_of_the_plan(tmp_path, campaign):
    plan = json.loads((campaign / "plan.json").read_text())
    plan["options"]["conditions"] = {"note": "--api-token=Zq3x9Kw7Lm2Pv5Rt8Yb1"}
    (campaign / "plan.json").write_text(json.dumps(plan))
    result(scaling_report, {"campaign_dir": str(campaign), "templates": TEMPLATES, "plots": False})
    written = [path for path in campaign.glob("*.*") if path.name != "plan.json"]
    assert "results.json" in {path.name for path in written}
    assert not [path for path in written if "Zq3x9Kw7Lm2" in path.read_text()]


def test_an_archive_goes_into_result_unless_told_otherwise(tmp_path, campaign, monkeypatch):
    result(campaign_archive, {"directory": str(campaign)})
    monkeypatch.chdir(tmp_path)
    found = result(campaign_unarchive, {"archive": "results/first.tar.gz"})
    assert found["directory"] == str(tmp_path / "result/first")
    assert (tmp_path / "result/first/plan.json").is_file()


def test_baseline_and_gate_are_described(tmp_path, campaign):
    gate = tmp_path / "gate.yml"
    gate.write_text("rules:\n  - metric: throughput\n    at_least: 20\n")
    second = write_campaign(tmp_path / "results" / "second", SPEEDS, repeats=3)
    cells = json.loads((second / "plan.json").read_text())["cells"]
    args = {"campaign_dir": str(second), "baseline": str(campaign), "cells": cells}
    found = result(comparison_check, args)
    assert found["changed"] is False
    assert found["text"].splitlines() == [
        "Baseline: first, 2 cell(s)",
        "Deficit that is found in 95 % of campaigns, and how often falsely:",
        "  pytorch fp32 bz4 2n1g: none with 3 repeats; 5 show how runs differ",
        "  pytorch fp32 bz4 1n1g: none with 3 repeats; 5 show how runs differ",
    ]
    with pytest.raises(AnsibleActionFail, match="margin"):
        result(comparison_check, {**args, "equivalence_margin": 0})
    other = [{**cell, "precision": "amp", "variant": "x"} for cell in cells]
    with pytest.raises(AnsibleActionFail, match=r"no cell is in both: here .* in the baseline "):
        result(comparison_check, {**args, "cells": other})
    assert result(comparison_check, {})["text"] == ""


def test_a_report_is_written_once_and_again_where_a_record_changed(campaign):
    args = report(campaign_dir=str(campaign))
    checked = result(scaling_report, args, check=True)
    assert checked["changed"] and not (campaign / "report.html").exists()
    first = result(scaling_report, args)
    assert first["changed"] and first["folder"] == str(campaign)
    assert first["counts"]["cells"] == 2 and not first["failures"]
    assert f"Report: {campaign}/report.html\n        {campaign}/report.md" in first["text"]
    assert first["text"].startswith(first["table"])
    # What a run without plots may take away are those of an earlier run, and only with plots on.
    (campaign / "throughput.png").write_text("mine")
    assert not result(scaling_report, args)["changed"]
    assert (campaign / "throughput.png").exists()
    fail_repeat(campaign, "logs/pytorch/bz4/2n1g/r50_b4_fp32_2.run.json")
    again = result(scaling_report, args)
    assert again["changed"] and len(again["failures"]) == 1
    assert sorted(again["facts"]) == sorted(first["facts"])


def test_a_report_is_on_one_of_campaign_and_logs(tmp_path, campaign):
    for args in ({}, {"campaign_dir": str(campaign), "log_dir": str(campaign)}):
        with pytest.raises(AnsibleActionFail, match="set either campaign_dir or log_dir"):
            result(scaling_report, report(**args))
    missing = report(campaign_dir=str(tmp_path / "later"))
    skipped = result(scaling_report, missing, check=True)
    assert skipped["skipped"] and "later: nothing was measured yet" in skipped["skip_reason"]
    with pytest.raises(AnsibleActionFail):
        result(scaling_report, missing)


def test_a_tree_of_logs_has_the_reference_scripts_output_and_file(tmp_path):
    write_tree(tmp_path / "logs", SPEEDS)
    args = report(log_dir=str(tmp_path / "logs"), output_dir=f"{tmp_path}/out/")
    found = result(scaling_report, {**args, "conditions": {"image_size": 224}})
    (saved,) = (tmp_path / "out").glob("*_result.json")
    facts = json.loads(saved.read_text())["r50"]
    assert {topology: fact["batch_size_per_device"] for topology, fact in facts.items()} == {
        "1n1g": 4, "2n1g": 4,
    }  # fmt: skip
    assert f"Saving result to {tmp_path}/out/{saved.name}" in found["text"]
    written = json.loads((tmp_path / "out/results.json").read_text())
    assert written["provenance"]["options"]["conditions"] == {"image_size": 224}


def test_the_history_of_campaigns_is_written_once(tmp_path, campaign):
    write_campaign(tmp_path / "results" / "second", SPEEDS, repeats=3)
    for name in ("first", "second"):
        folder = tmp_path / "results" / name
        planned = json.loads((folder / "plan.json").read_text())
        planned["created"] = f"2026-01-0{len(name) - 4}T00:00:00Z"
        (folder / "plan.json").write_text(json.dumps(planned))
        result(scaling_report, report(campaign_dir=str(folder)))
    output = tmp_path / "history"
    args = {"results_dir": str(tmp_path / "results"), "output_dir": str(output)}
    args |= {"templates": [str(ROOT / "roles/history/templates"), *TEMPLATES], "plots": False}
    found = result(campaign_history, args)
    assert {path.name for path in output.iterdir()} == {
        "history.html", "history.json", "history.csv", "history.md",
    }  # fmt: skip
    assert found["campaigns"] == 2
    assert found["changed"] and found["left_out"] == [] and found["changes"] == []
    stale, kept = output / "trend-a-01234567.svg", output / "trend-of-mine.svg"
    stale.write_text("")
    kept.write_text("")
    assert result(campaign_history, args)["changed"]
    assert (stale.exists(), kept.exists()) == (False, True)
    assert not result(campaign_history, args)["changed"]
    (tmp_path / "none").mkdir()
    with pytest.raises(AnsibleActionFail, match="none: no campaign with results there"):
        result(campaign_history, {**args, "results_dir": str(tmp_path / "none")})
    with pytest.raises(AnsibleActionFail, match="nowhere: cannot be read: No such file"):
        result(campaign_history, {**args, "results_dir": str(tmp_path / "nowhere")})


DRAWING = """
import os
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    needs_matplotlib,
)
with needs_matplotlib("report_plots"):
    import matplotlib
    import matplotlib.font_manager
print(matplotlib.get_cachedir())
os._exit(0)  # As a worker of Ansible.
"""


def test_plots_need_no_home_folder_and_no_backend_of_the_user(tmp_path):
    (tmp_path / "tmp").mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith("MPL")}
    done = subprocess.run(
        [sys.executable, "-uc", DRAWING],
        env={
            **{name: value for name, value in env.items() if not name.startswith("XDG_")},
            "ANSIBLE_HOME": str(tmp_path / "home"),
            "HOME": os.devnull,
            # As Jupyter sets it.
            "MPLBACKEND": "module://some_inline.backend",
            "PYTHONPATH": str(ROOT / "collections"),
            "TMPDIR": str(tmp_path / "tmp"),
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str(tmp_path / "home/matplotlib")
    assert not list((tmp_path / "tmp").iterdir())
