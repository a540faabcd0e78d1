"""What the action plugins do with their arguments, on this machine and without a playbook."""

import base64
import json
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible_collections.scalebench.core.plugins.module_utils.node import runs
from ansible_collections.scalebench.core.plugins.module_utils.node.machine import digest
from ansible_collections.scalebench.core.plugins.plugin_utils.carrier import EndedByCarrierError
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import read_campaign
from campaign_data import ROOT, cluster
from written_campaigns import fail_repeat, write_campaign
from written_logs import write_log, write_tree

from action_plugins import (
    campaign_archive,
    campaign_history,
    campaign_plan,
    campaign_unarchive,
    comparison_check,
    json_file,
    preflight_facts,
    scaling_report,
    text_tree,
    training_log_facts,
    training_run,
    training_runs,
)

TEMPLATES = [str(ROOT / "roles/report/templates")]
SPEEDS = {"1n1g": 24.0, "2n1g": 46.0}


def plugin(module, args, check=False, transport="local", become=False, **variables):
    """Return the action plugin of a module for a task with these arguments."""
    task = SimpleNamespace(args=args, async_val=0, check_mode=check, diff=False, become=become)
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=""), transport=transport)
    templar = SimpleNamespace(available_variables=variables, template=lambda value: value)
    return module.ActionModule(task, connection, None, None, templar, None)


def result(module, args, **given):
    return plugin(module, args, **given).run(task_vars={})


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


def test_an_error_of_an_action_has_its_file(tmp_path):
    with pytest.raises(AnsibleActionFail, match=r"nowhere\.tgz: No such file or directory"):
        result(campaign_unarchive, {"archive": str(tmp_path / "nowhere.tgz")})


def test_a_json_file_is_written_once_and_without_secrets(tmp_path):
    path = tmp_path / "new/verdicts.json"
    args = {"path": str(path), "content": {"found": "process 7 (x --token=hf_" + "a1" * 20 + ")"}}
    assert result(json_file, args, check=True)["changed"] and not path.parent.exists()
    assert result(json_file, args)["changed"]
    assert not result(json_file, args)["changed"]
    found = json.loads(path.read_text())["found"]
    assert found == "process 7 (x --token=[redacted: Hugging Face token])"
    (tmp_path / "file").write_text("")
    with pytest.raises(
        AnsibleActionFail, match=r"file/a\.json: cannot be written: Not a directory"
    ):
        result(json_file, {**args, "path": str(tmp_path / "file/a.json")})


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


def plan_args(tmp_path, variables, **more):
    return {
        "variables": variables, "benchmarks_dir": str(ROOT / "benchmarks"),
        "results_dir": str(tmp_path), "campaign": "c", **more,
    }  # fmt: skip


@pytest.fixture
def forks(monkeypatch):
    monkeypatch.setattr(campaign_plan.context, "CLIARGS", {"forks": 5})


def test_a_plan_says_which_trainers_provisioning_copies(tmp_path, forks):
    args = plan_args(tmp_path, {}, nodes=cluster(2))
    ours, other = str(ROOT / "workloads"), str(tmp_path)
    for sources, copied in (([ours], True), ([other], False), ([other, ours], True)):
        found = result(campaign_plan, {**args, "workload_sources": sources}, check=True)
        assert found["workloads"]["resnet50/train_pytorch.py"] == {
            "named_by": f"{ROOT}/benchmarks/pytorch.yml: recipes.portable.workload",
            "copied": copied,
        }


def test_trainers_of_another_checkout_are_told_and_kept_in_the_plan(tmp_path, forks):
    sources = tmp_path / "workloads"
    sources.mkdir()
    (sources / "train.py").write_text("new")
    nodes = cluster(2)
    for node in nodes.values():
        node["workload"] = {"train.py": "older"}
    args = plan_args(tmp_path, {"topology": "1n1g"}, nodes=nodes, workload_sources=[str(sources)])
    (remark,) = result(campaign_plan, args)["remarks"]
    assert remark.startswith("trainers on the nodes are not those of this checkout (train.py), wh")
    plan = json.loads((tmp_path / "c/plan.json").read_text())
    assert plan["other_trainers"] == ["train.py"]
    assert result(campaign_plan, {**args, "session": "now"})["remarks"] == []


def test_of_the_folders_of_trainers_only_those_on_the_nodes_are_read(tmp_path, forks, monkeypatch):
    sources, texts = tmp_path / "own", {"my/train.py": b"a\r\n# \xc3\xa4\r\n", "data.py": b"\xff"}
    for name, text in {**texts, "my/data.bin": b"", "my/notes.py": b""}.items():
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_bytes(text)
    read, read_text = [], Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda path, *by, **as_: read.append(path) or read_text(path, *by, **as_)
    )
    on_nodes = {"my/train.py": digest(b"a\n# \xc3\xa4\n"), "data.py": digest(b"\xff")}
    nodes = cluster(2)
    for node in nodes.values():
        node["workload"] = {**on_nodes, "my/data.bin": "x"}
    args = plan_args(tmp_path, {"topology": "1n1g"}, nodes=nodes, workload_sources=[str(sources)])
    assert result(campaign_plan, args)["remarks"] == []
    below = [str(path.relative_to(sources)) for path in read if path.is_relative_to(sources)]
    assert sorted(below) == sorted(texts)


def test_a_plan_is_made_kept_and_continued(tmp_path, forks):
    variables = {"topology": "1n1g,2n1g", "repeats": 2}
    args = plan_args(tmp_path, variables, nodes=cluster(2), session="now")
    checked = result(campaign_plan, args, check=True)
    assert checked["changed"] and not (tmp_path / "c").exists()
    found = result(campaign_plan, args)
    assert found["changed"] and found["directory"] == str(tmp_path / "c")
    assert (found["campaign"], found["session"], found["packing"]) == ("c", "now", "none")
    assert (found["repeats"], found["missing"], found["measured"]) == (4, 4, 0)
    assert sum(len(wave["repeats"]) for wave in found["waves"]) == 4
    assert found["seconds"] == sum(wave["seconds"] for wave in found["waves"])
    assert 0 < found["lower_bound"] <= found["seconds"]
    assert found["not_run"] == [] and "2n1g" in found["text"]
    (tmp_path / "c/logs/pytorch").mkdir(parents=True)
    cells = found["cells"]
    log = f"logs/{cells[0]['directory']}/" + found["waves"][0]["repeats"][0]["log"].split("/")[-1]
    write_log(tmp_path / "c" / log)
    again = result(campaign_plan, plan_args(tmp_path, {}, nodes=cluster(2)))
    assert not again["changed"] and again["cells"] == cells
    # The log of an attempt without a record is set aside, for the repeat to run again.
    assert again["missing"] == 4 and not (tmp_path / "c" / log).exists()
    with pytest.raises(AnsibleActionFail, match="repeats"):
        result(campaign_plan, plan_args(tmp_path, {**variables, "repeats": 3}, nodes=cluster(2)))


def test_a_host_that_stands_in_for_a_planned_one_is_told_with_the_cause(tmp_path, forks):
    for hosts in ({"node1": "spare", "node2": "node2"}, {"node1": "spare", "node2": "other"}):
        args = plan_args(tmp_path, {"topology": "2n1g"}, nodes=cluster(2), hosts=hosts)
        result(campaign_plan, args)
    planned = json.loads((tmp_path / "c/plan.json").read_text())
    assert [one["changes"] for one in planned["continued"]] == [
        ["node1 was replaced by spare, since the preflight failed"],
        ["node2 was replaced by other, of the same hardware"],
    ]


@pytest.mark.parametrize(
    ("carrier", "started"), [("ssh", ["scalebench-pytorch-upstream"]), ("slurm", [])]
)
def test_the_containers_of_the_cells_are_started_unless_steps_start_their_own(
    tmp_path, forks, carrier, started
):
    variables = {"recipe": "upstream", "topology": "1n1g"}
    more = {"carrier": carrier, "srun": {"mpi": "pmix", "containers": True}}
    args = plan_args(tmp_path, variables, nodes=cluster(1, gpus=1), **more)
    assert result(campaign_plan, args)["containers"] == started


def test_a_campaign_goes_on_with_a_part_of_its_nodes(tmp_path, forks):
    variables, nodes = {"topology": "1n1g,3n1g", "repeats": 3, "packing": "nodes"}, cluster(3)
    result(campaign_plan, plan_args(tmp_path, variables, nodes=nodes))
    plan_json = (tmp_path / "c/plan.json").read_text()

    def go_on(*names, **more):
        some = {name: nodes[name] for name in names}
        return result(campaign_plan, plan_args(tmp_path, variables, nodes=some, **more))

    found = go_on("node1", "node2")
    # Nor is a repeat of a smaller cell packed onto the node that is not there.
    assert [[*wave["shares"]] for wave in found["waves"]] == [["node1", "node2"], ["node1"]]
    left = {(repeat["ending"], repeat["reason"]) for repeat in found["not_run"]}
    assert left == {("unavailable", "node3: it is not in this run (--limit)")}
    assert len(go_on("node1", "node2", "node3")["waves"]) == 4
    assert (tmp_path / "c/plan.json").read_text() == plan_json
    with pytest.raises(AnsibleActionFail, match="--limit node1,node2,node3, or give another"):
        result(campaign_plan, plan_args(tmp_path, variables, nodes=cluster(4)))
    damaged = json.loads(plan_json)
    del damaged["nodes"]["node3"]["cores"]
    (tmp_path / "c/plan.json").write_text(json.dumps(damaged))
    with pytest.raises(AnsibleActionFail, match="has no cores of node3"):
        go_on("node1", "node2")
    del damaged["settings"]
    (tmp_path / "c/plan.json").write_text(json.dumps(damaged))
    with pytest.raises(AnsibleActionFail, match="3n1g: it needs 3 node"):
        go_on("node1", "node2")


def test_promises_are_kept_beside_the_plan_that_they_state(tmp_path, forks):
    def content(topology):
        lines = [{"min_throughput": 1}]
        return {"about": "x", "campaign": {"topology": topology, "repeats": 2}, "lines": lines}

    variables = {"topology": "1n1g,2n1g", "repeats": 2}
    for topology, said in (("1n1g", "1n1g is stated, the plan has 1n1g,2n1g"), ("1n1g,2n1g", "")):
        promises = {"file": "mine", "content": content(topology)}
        args = plan_args(tmp_path, variables, nodes=cluster(2), acceptance=promises)
        if said:
            with pytest.raises(
                AnsibleActionFail, match=f"acceptance mine states: topology: {said}"
            ):
                result(campaign_plan, args)
            assert not (tmp_path / "c").exists()
    result(campaign_plan, args, check=True)
    assert not (tmp_path / "c").exists()
    assert result(campaign_plan, args)["changed"]
    assert json.loads((tmp_path / "c/acceptance.json").read_text()) == promises
    assert not result(campaign_plan, args)["changed"]
    # Without options of -e those of the plan hold, whatever the acceptance states.
    other = {"file": "mine", "content": content("2n1g")}
    args = plan_args(tmp_path, {}, nodes=cluster(2), acceptance=other)
    with pytest.raises(AnsibleActionFail, match="topology: 2n1g is stated"):
        result(campaign_plan, args)


@pytest.mark.parametrize(
    ("variables", "more", "cause"),
    [
        ({"repaets": 2}, {}, "repeats"),
        ({"topology": "9n1g"}, {}, "9n1g"),
        ({}, {"campaign": "../x"}, "-e campaign=../x: a campaign's name is a folder's name"),
        ({}, {"free_mib": 1 << 40}, "free"),
        ({"topology": "4n1g", "packing": "none"}, {"nodes": cluster(6)}, None),
        ({"topology": "6n1g"}, {"nodes": cluster(6)}, "forks"),
    ],
)
def test_what_cannot_be_planned_is_refused_before_anything_is_written(
    tmp_path, forks, variables, more, cause
):
    args = plan_args(tmp_path, variables, **{"nodes": cluster(2), **more})
    if cause is None:
        assert result(campaign_plan, args)["packing"] == "none"
        return
    with pytest.raises(AnsibleActionFail, match=cause):
        result(campaign_plan, args)
    assert list(tmp_path.iterdir()) == []


def test_options_are_checked_without_nodes_and_must_be_the_same_on_all(tmp_path):
    hosts = {"node1": {}, "node2": {}}
    variables = {"hostvars": hosts, "ansible_play_hosts": ["node1", "node2"], "precision": "fp32"}
    args = plan_args(tmp_path, {})
    found = plugin(campaign_plan, args, **variables).run(task_vars={})
    assert (found["changed"], found["frameworks"]) == (False, ["pytorch"])
    assert "cells" not in found
    hosts["node2"]["precision"] = "amp"
    with pytest.raises(AnsibleActionFail, match="precision"):
        plugin(campaign_plan, args, **variables).run(task_vars={})


def test_logs_are_read_here_only_where_they_are_and_may_be_read(tmp_path, monkeypatch):
    write_log(tmp_path / "a.log")
    args = {"path": str(tmp_path / "a.log")}
    asked = []
    monkeypatch.setattr(
        training_log_facts.ActionModule,
        "_execute_module",
        lambda *_, **given: asked.append(given) or {"there": True},
    )
    assert result(training_log_facts, args)["throughput"] and not asked
    for elsewhere in ({"transport": "ssh"}, {"become": True}):
        assert result(training_log_facts, args, **elsewhere)["there"]
    assert len(asked) == 2
    (tmp_path / "a.log").write_text("nothing\n")
    failed = result(training_log_facts, args)
    assert failed["failed"] and "no known format" in failed["msg"]


def test_texts_are_read_by_pattern_and_added_to_those_given(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.py").write_text("b")
    (tmp_path / "c.yml").write_text("c")
    (tmp_path / "folder.py").mkdir()
    monkeypatch.setattr(
        text_tree.ActionModule, "_execute_module", lambda *_, module_args, **__: module_args
    )
    args = {"source": str(tmp_path), "texts": {"own": "o"}}
    assert result(text_tree, args)["texts"] == {"own": "o", "a/b.py": "b"}
    assert result(text_tree, {**args, "pattern": "*.yml"})["texts"] == {"own": "o", "c.yml": "c"}
    assert result(text_tree, {"texts": {"own": "o"}})["texts"] == {"own": "o"}
    with pytest.raises(AnsibleActionFail, match=r"no file matches \*\.txt"):
        result(text_tree, {**args, "pattern": "*.txt"})


def test_the_skew_of_a_clock_is_between_before_and_after(monkeypatch):
    answers = [
        {"clock": 105.0, "other": 1},
        {"other": 1},
        {"clock": "x"},
        {"clock_skew": [0, 0]},
    ]
    monkeypatch.setattr(
        preflight_facts.ActionModule, "_execute_module", lambda *_, **__: answers.pop(0)
    )
    times = [100.0, 102.0, *(0.0,) * 6]
    monkeypatch.setattr(preflight_facts.time, "time", lambda: times.pop(0))
    assert result(preflight_facts, {})["clock_skew"] == [3.0, 5.0]
    # A node that does not tell its clock cannot say how wrong it is.
    for _ in range(3):
        assert "clock_skew" not in result(preflight_facts, {})


@pytest.mark.parametrize("packing", ["none", "nodes", "devices"])
def test_a_plan_without_a_node_left_has_no_time(packing):
    assert campaign_plan._bound([], {}, packing) == 0


class Watch:
    """Stands in for RunWatch: notes its limits, and what the run was failed with."""

    ended = None

    def __init__(self, seconds, failed):
        self.seconds, self.failed_file, self.failures = seconds, failed, []
        Watch.last = self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def fail(self, *delay):
        self.failures.append(delay)


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """Return a function that runs training_run with a node that gives these answers."""
    monkeypatch.setattr(training_run, "RunWatch", Watch)
    for name in ("end_with_playbook", "adopt_orphans"):
        monkeypatch.setattr(training_run, name, lambda: None)

    def train(*answers, ended=None, **args):
        monkeypatch.setattr(Watch, "ended", ended)
        told = list(answers)

        def execute(_, module_name, module_args, **__):
            train.asked.append((module_name, module_args))
            answer = told.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(training_run.ActionModule, "_execute_module", execute)
        train.asked = []
        given = {"work_dir": "/w", "directory": "d", "name": "n", **args}
        action = plugin(training_run, given)
        action._connection.fetch_file = lambda _, part: open(part, "w").write("log")  # noqa: SIM115
        return action.run(task_vars={"inventory_hostname": "node1"})

    return train


def test_a_run_that_went_well_is_fetched(tmp_path, trained):
    target = tmp_path / "logs" / "x.log"
    answer = trained(
        {"ending": "ok", "log": "/w/d/n.log"}, fetch_to=str(target), timeout="60", grace=5
    )
    assert answer["ending"] == "ok" and target.read_text() == "log"
    assert [path.name for path in target.parent.iterdir()] == ["x.log"]
    assert (Watch.last.seconds, Watch.last.failed_file, Watch.last.failures) == (65.0, None, [])
    trained({"ending": "ok", "log": "/w/d/n.log"}, failed_file=str(tmp_path / "failed"))
    assert (Watch.last.seconds, Watch.last.failed_file) == (0.0, tmp_path / "failed")
    trained({"failed": True, "log": "/w/d/n.log"}, fetch_to=str(tmp_path / "none.log"))
    assert not (tmp_path / "none.log").exists()


def test_a_log_that_came_with_the_answer_is_not_fetched(tmp_path, trained):
    source, target = tmp_path / "x", tmp_path / "x.log"
    source.write_bytes(b"iteration 1\n\xff\x00")
    answer = {"ending": "ok", "log": "/w/d/n.log", "packed_log": runs.packed(str(source))}
    assert "packed_log" not in trained(answer, fetch_to=str(target))
    assert target.read_bytes() == source.read_bytes()
    source.write_bytes(bytes((1 << 20) + 1))
    answer["packed_log"] = runs.packed(str(source))
    trained(answer, fetch_to=str(target))
    assert target.read_text() == "log"


@pytest.mark.parametrize("content", [bytes((1 << 20) + 1), b"cut"])
def test_a_log_that_came_damaged_or_too_large_is_fetched(tmp_path, trained, content):
    text = base64.b64encode(zlib.compress(content)).decode()
    for packed in (text if len(content) > 9 else text[:-8], "no base64"):
        target = tmp_path / "x.log"
        trained({"ending": "ok", "log": "/w/d/n.log", "packed_log": packed}, fetch_to=str(target))
        assert target.read_text() == "log"
        target.unlink()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"packed_log": 5}, "answer.packed_log is 5, not a text"),
        ({"packed_log": ["x"]}, "answer.packed_log is ['x'], not a text"),
        ({"log": ["/w/d/n.log"]}, "answer.log is ['/w/d/n.log'], not a text"),
        ({"log": {"a": 1}, "packed_log": None}, "answer.log is {'a': 1}, not a text"),
    ],
)
def test_a_log_of_another_type_is_a_failed_repeat_that_ends_its_peers(trained, wrong, said):
    answer = trained({"ending": "ok", "log": "/w/d/n.log", **wrong}, fetch_to="/nowhere")
    assert answer == {"failed": True, "msg": said}
    assert Watch.last.failures == [(0,)]


def test_a_node_cannot_speak_for_its_carrier_or_for_ansible(trained):
    told = {"ending": "interrupted", "reason": "x", "device_users": ["1, x"]}
    more = {"carrier_over": True, "unreachable": True, "gone": "no route", "runs": {}}
    assert trained({**told, **more, "_ansible_x": 1}) == told


def test_the_end_of_a_run_may_be_told_without_a_usable_log(trained):
    for log in ({}, {"log": 5}):
        answer = trained(
            AnsibleConnectionFailure("gone"), {"ended": True, **log},
            ended="timeout", timeout=60, grace=5, fetch_to="/nowhere",
        )  # fmt: skip
        assert (answer["ending"], answer["log"]) == ("timeout", None)


@pytest.mark.parametrize(
    "log",
    [
        "/etc/d/x.log",
        "/w/a\\'\" /w/b\n!id\n/d/n.log",
        "/w/a\\/d/n.log",
        "/w/\ud800/d/n.log",
        "d/n.log",
    ],
)
def test_a_log_elsewhere_is_not_fetched(tmp_path, trained, log):
    with pytest.raises(AnsibleError, match="the node says that the log is"):
        trained({"ending": "ok", "log": log}, fetch_to=str(tmp_path / "x.log"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("answer", "delay"),
    [
        ({"ending": "crashed"}, training_run.PEER_GRACE),
        ({"ending": "timeout"}, training_run.PEER_GRACE),
        ({"ending": "stalled"}, 0),
        ({"failed": True, "msg": "x"}, 0),
    ],
)
def test_a_run_that_did_not_ends_its_peers(trained, answer, delay):
    assert trained(answer).items() >= answer.items()
    assert Watch.last.failures == [(delay,)]


@pytest.mark.parametrize("ended", ["timeout", "cancelled"])
def test_a_run_that_is_ended_from_here_waits_for_its_end_there(trained, ended):
    lost = AnsibleConnectionFailure("gone")
    answer = trained(lost, {"ended": True, "log": "/w/x"}, ended=ended, timeout=60, grace=5)
    reason = {
        "timeout": "the node gave no answer within 60 s and 5 s more",
        "cancelled": "ended, because another node of the repeat failed",
    }
    assert (answer["ending"], answer["reason"], answer["log"]) == (ended, reason[ended], "/w/x")
    assert trained.asked[1] == (
        "training_run_end",
        {"work_dir": "/w", "run": "/w/d/n", "patience": 5.0},
    )
    by_module = trained({"failed": True}, {"ended": False, "msg": "x"}, ended=ended)
    assert (by_module["ending"], by_module["log"]) == (ended, None)


def test_a_node_that_is_lost_fails_its_peers_and_is_unreachable(trained):
    with pytest.raises(AnsibleConnectionFailure, match="gone"):
        trained(AnsibleConnectionFailure("gone"))
    assert Watch.last.failures == [()]


def test_a_run_that_outlives_its_connection_is_waited_for(trained):
    error = EndedByCarrierError("launch_failed", "srun was killed", over=False, lingers=True)
    with pytest.raises(EndedByCarrierError):
        trained(error, {"ended": True, "log": None}, grace=5)
    assert [(name, args.get("patience")) for name, args in trained.asked] == [
        ("training_run", None),
        ("training_run_end", 10.0),
    ]


def test_the_runs_of_a_wave_are_told_apart_and_a_node_is_lost_only_with_all(monkeypatch):
    asked = []

    def train(_, name, args, __):
        asked.append((name, args))
        if args["name"] == "lost":
            raise AnsibleConnectionFailure("gone")
        return {"ending": "ok", "changed": args["name"] == "new"}

    monkeypatch.setattr(training_runs, "run_action", train)
    monkeypatch.setattr(
        training_runs, "side_by_side", lambda calls: {log: call() for log, call in calls.items()}
    )
    common = {key: key for key in training_runs.COMMON_KEYS}
    campaign = {"name": "c", "directory": "/c", "session": "now"}

    def run(*names):
        shares = [
            {"argv": [], "environment": {}, "rank": 0, "devices": [], "name": name,
             "log": f"{name}.log", "directory": "d", "output": f"{name}.out"}
            for name in names
        ]  # fmt: skip
        options = {**common, "campaign": campaign}
        given = {"shares": shares, "without": ["skipped.log"], "options": options}
        return result(training_runs, given)

    found = run("new", "lost")
    assert found["changed"] and "unreachable" not in found
    assert found["runs"]["lost.log"] == {"unreachable": True, "msg": "gone"}
    assert asked[0][0] == "training_run"
    assert asked[0][1].items() >= {
        **common, "name": "new", "rank": 0, "directory": "runs/c/d",
        "failed_file": "/c/new.log.failed-now", "fetch_to": "/c/new.out",
    }.items()  # fmt: skip
    assert not run("old")["changed"]
    asked.clear()
    assert [*run("new", "skipped")["runs"]] == ["new.log"] and len(asked) == 1
    assert run("skipped")["skipped"] and len(asked) == 1
    asked_again = {":": ""}
    monkeypatch.setattr(
        training_runs.ActionModule,
        "_low_level_execute_command",
        lambda _, command: asked_again[command],
    )
    lost = run("lost")
    assert (lost["unreachable"], lost["msg"], lost["gone"]) == (True, "gone", "")

    def still_gone(*_):
        raise AnsibleConnectionFailure("no route to host")

    monkeypatch.setattr(training_runs.ActionModule, "_low_level_execute_command", still_gone)
    assert run("lost")["gone"] == "no route to host"


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
