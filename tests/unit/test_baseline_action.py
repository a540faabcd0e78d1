"""Several campaigns as a baseline: what comparison_check takes of them and refuses."""

import json
import shutil

import pytest
from action_calls import SPEEDS, report, result
from ansible.errors import AnsibleActionFail
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import read_campaign
from written_campaigns import write_campaign

from action_plugins import comparison_check, scaling_report


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
