"""What the actions do that pack, compare and report campaigns."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from action_calls import TEMPLATES, result
from ansible.errors import AnsibleActionFail
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import read_campaign
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

SPEEDS = {"1n1g": 24.0, "2n1g": 46.0}


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


def nights(folder, *names, **fingerprint):
    """Write a campaign with results for each name, planned on days of their own."""
    for day, name in enumerate(names, 1):
        made = write_campaign(folder / name, SPEEDS, repeats=3, **fingerprint)
        plan = json.loads((made / "plan.json").read_text())
        plan["created"] = f"2026-11-0{day}T01:00:00Z"
        for cell in plan["cells"]:
            cell["node_names"] = ["node1", "node2"][: cell["nodes"]]
        (made / "plan.json").write_text(json.dumps(plan))
        results = read_campaign(made, "auto", {}).results
        (made / "results.json").write_text(json.dumps(results))
    return plan


def broken_off(folder):
    """Leave one repeat of each cell."""
    results = json.loads((folder / "results.json").read_text())
    for cell in results["cells"]:
        del cell["repeats"][1:]
        cell["spread"]["n"] = 1
    (folder / "results.json").write_text(json.dumps(results))


def test_several_campaigns_are_a_baseline(tmp_path):
    plan = nights(tmp_path, "n1", "n2", "n3", "n4", "n5")
    nights(tmp_path, "other", cores=64)
    shutil.copytree(tmp_path / "n1", tmp_path / "empty")
    (tmp_path / "empty/results.json").unlink()
    args = {"results_dir": str(tmp_path), "cells": plan["cells"], "nodes": plan["nodes"]}

    def text(given, **more):
        return result(comparison_check, {**args, "baseline": given, **more})["text"].splitlines()

    chosen = text("last:4")
    assert chosen[0] == "Baseline: 4 campaign(s) of 4 day(s)"
    assert [line.split(",")[0].strip() for line in chosen[1:5]] == ["n5", "n4", "n3", "n2"]
    left = " ".join(chosen[5:])
    assert "not n1: older than the last 4" in left
    assert "not empty: it has a plan and no results.json" in left
    assert "not other: pytorch fp32" in left and "hardware 64 cores" in left
    assert text("last:4", campaign_dir=str(tmp_path / "n5"))[1].startswith("  n4,")
    assert text("last:4", cells=[]) == ["Baseline: chosen once the cells are planned"]
    broken_off(tmp_path / "n5")
    assert text("last:4")[1].startswith("  n4,")
    assert "not n5: pytorch fp32" in (left := " ".join(text("last:4"))) and "fewer than 2" in left
    assert text("n?")[0] == "Baseline: 5 campaign(s) of 5 day(s)"
    assert text("n?", campaign_dir=str(tmp_path / "n5"))[0] == "Baseline: 4 campaign(s) of 4 day(s)"
    assert text(f"n1, {tmp_path}/n3")[0] == "Baseline: 2 campaign(s) of 2 day(s)"


def test_earlier_campaigns_show_how_days_differ_though_the_baseline_is_one(tmp_path):
    plan = nights(tmp_path, "n1", "n2", "n3", "n4", "n5", "n6")
    nights(tmp_path, "other", cores=64)
    args = {"results_dir": str(tmp_path), "cells": plan["cells"], "nodes": plan["nodes"]}
    text = result(comparison_check, {**args, "baseline": "n6"})["text"]
    assert text.splitlines()[0].startswith("Baseline: n6, ")
    assert text.count("against 1 day(s); 6 known days differ by ") == 2
    # Not those that were planned later, nor those of other hardware.
    first = report(campaign_dir=str(tmp_path / "n6"), baseline="n5", results_dir=str(tmp_path))
    result(scaling_report, first)
    compared = json.loads((tmp_path / "n6/results.json").read_text())["comparison"]
    assert [one["campaign"] for one in compared["baselines"]] == ["n5"]
    cell = compared["cells"][0]
    assert (cell["scope"], cell["known_days"]) == ("new day", 5)
    assert sorted(one["day"] for one in cell["earlier"]) == [f"2026-11-0{d}" for d in range(1, 5)]
    other = result(comparison_check, {**args, "baseline": "n6", "nodes": {}})["text"]
    assert "known days" not in other
    # Nor days after the baseline, which may have what is looked for.
    result(scaling_report, {**first, "campaign_dir": str(tmp_path / "n6"), "baseline": "n3"})
    compared = json.loads((tmp_path / "n6/results.json").read_text())["comparison"]
    earlier = compared["cells"][0].get("earlier") or []
    assert sorted(one["day"] for one in earlier) == ["2026-11-01", "2026-11-02"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("last:x", "baseline last:x: last: needs how many campaigns"),
        ("n1,last:2", "last:2 stands alone, not in a list"),
        ("z*", r"no campaign in .* fits z\*: there are n1, n2, other"),
        ("n1,none", "no file or folder, and no campaign in .*: there are n1"),
        (",", "it names no campaign"),
        ("n1,other", "mixed hardware: .*1n1g ran on 2 cores of None in n1, and on 64 cores"),
    ],
)
def test_a_baseline_of_several_that_cannot_be_used_is_refused(tmp_path, given, said):
    plan = nights(tmp_path, "n1", "n2")
    nights(tmp_path, "other", cores=64)
    args = {"results_dir": str(tmp_path), "cells": plan["cells"], "nodes": plan["nodes"]}
    with pytest.raises(AnsibleActionFail, match=said):
        result(comparison_check, {**args, "baseline": given})


def test_a_baseline_is_computed_anew_where_its_logs_are_there(tmp_path):
    plan = nights(tmp_path, "n1", "n2", "n3")
    args = {"results_dir": str(tmp_path), "cells": plan["cells"], "nodes": plan["nodes"]}
    for name in ("n1", "n3"):
        (tmp_path / name / "results.json").write_text("[]")
    for name in ("n2", "n3"):
        (tmp_path / name / "plan.json").unlink()
    shutil.rmtree(tmp_path / "n2/logs")
    for given in ("n1", f"{tmp_path}/n2", f"{tmp_path}/n3"):
        found = result(comparison_check, {**args, "baseline": given})
        assert found["text"].startswith(f"Baseline: {given[-2:]}, 2 cell(s)\n")
    (tmp_path / "n2/results.json").write_text("[]")
    with pytest.raises(AnsibleActionFail, match=f": {tmp_path}/n2: it is not a results.json"):
        result(comparison_check, {**args, "baseline": f"n1,{tmp_path}/n2"})


def test_a_campaign_is_no_baseline_of_itself(tmp_path):
    plan = nights(tmp_path, "n1", "n2")
    args = {"results_dir": str(tmp_path), "cells": plan["cells"], "nodes": plan["nodes"]}
    args["campaign_dir"] = str(tmp_path / "n2")
    for given in ("n2", f"{tmp_path}/n2/results.json"):
        with pytest.raises(AnsibleActionFail, match=f"baseline {given}: it is the campaign itself"):
            result(comparison_check, {**args, "baseline": given})
    found = result(comparison_check, {**args, "baseline": f"{tmp_path}/n1/results.json"})
    assert found["text"].startswith("Baseline: n1, ")


def test_none_of_the_same_hardware_is_told_with_the_reasons(tmp_path):
    plan = nights(tmp_path, "n1", "n2")
    moved = {name: {**node, "cores": 9} for name, node in plan["nodes"].items()}
    args = {"results_dir": str(tmp_path), "cells": plan["cells"], "nodes": moved}
    with pytest.raises(AnsibleActionFail, match=r"no campaign in .* same hardware and plan: .*n1"):
        result(comparison_check, {**args, "baseline": "last:4"})


def report(**args):
    return {"templates": TEMPLATES, "plots": False, **args}


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
