"""Links out of a campaign's folder: what they lead to is neither read nor quoted, and is named."""

import json
import os
import shutil
from pathlib import Path

import pytest
from ansible_collections.scalebench.core.plugins.plugin_utils import (
    campaign_files,
    files,
    report_files,
    results_reading,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import read_campaign
from hostile_files import write_whole_campaign


@pytest.fixture
def campaign(tmp_path):
    return write_whole_campaign(tmp_path / "mine")


def move_out(path, campaign):
    """Move a file or folder beside the campaign, and leave a link to it."""
    target = campaign.parent / "outside" / path.name
    target.parent.mkdir(exist_ok=True)
    shutil.move(path, target)
    path.symlink_to(target)


def speeds(results):
    return {one["log"]: one["throughput"] for cell in results["cells"] for one in cell["repeats"]}


@pytest.mark.parametrize("name", ["plan.json", "preflight.json"])
def test_a_link_costs_only_itself(campaign, name):
    before = read_campaign(campaign, "auto", {}).results
    move_out(campaign / name, campaign)
    results = read_campaign(campaign, "auto", {}).results
    (problem,) = [one for one in results["unmatched"] if "cannot be read" in one["reason"]]
    assert problem["path"] == name and "leads out of the folder" in problem["reason"]
    assert "preflight" in before and ("preflight" in results) == (name == "plan.json")
    assert speeds(results) == speeds(before)


def test_what_a_plan_outside_holds_is_not_quoted(campaign):
    move_out(campaign / "plan.json", campaign)
    (campaign.parent / "outside/plan.json").write_text('["words of another file"]')
    found = read_campaign(campaign, "auto", {})
    assert "words of another" not in json.dumps(found.results)
    with pytest.raises(ValueError, match="leads out of the folder") as refused:
        campaign_files.kept_plan(campaign)
    assert "words of another" not in str(refused.value)


def test_a_log_outside_has_no_figure_and_a_record_outside_is_none(campaign):
    logs = sorted(campaign_files.records(campaign))
    move_out(campaign / logs[0], campaign)
    move_out((campaign / logs[1]).with_suffix(".run.json"), campaign)
    runs = {run["log"]: run for run in read_campaign(campaign, "auto", {}).runs}
    assert (runs[logs[0]]["ending"], runs[logs[0]]["facts"]) == ("invalid", None)
    assert "leads out of the folder" in runs[logs[0]]["reason"]
    assert sorted(runs) == [logs[0], *logs[2:]]
    # Both run again.
    assert sorted(campaign_files.records(campaign)) == logs[2:]


def test_an_attempt_outside_is_none(campaign):
    (log,) = campaign_files.attempts(campaign)
    move_out((campaign / log).with_suffix(".attempt1.json"), campaign)
    assert campaign_files.attempts(campaign) == {}


def test_logs_elsewhere_are_refused_alike_and_a_whole_folder_elsewhere_is_not(campaign):
    known = campaign_files.records(campaign)
    move_out(campaign, campaign)
    assert campaign_files.records(campaign) == known
    assert len(read_campaign(campaign, "auto", {}).runs) == len(known)
    move_out(campaign / "logs", campaign)
    problems = []
    assert campaign_files.records(campaign, problems) == {}
    assert [one["path"] for one in problems] == ["logs"]
    for read in (campaign_files.kept_plan, lambda folder: read_campaign(folder, "auto", {})):
        with pytest.raises(ValueError, match=r"mine/logs is a link .*make .*mine the link"):
            read(campaign)


def test_a_link_that_comes_after_the_look_at_it_leads_nowhere_either(campaign, monkeypatch):
    (campaign.parent / "secret.log").write_text("words of another file")
    log = min(campaign_files.records(campaign))
    real = os.open

    def swapped(path, *arguments, **options):
        if str(path) == str(campaign / log):
            (campaign / log).unlink()
            (campaign / log).symlink_to(campaign.parent / "secret.log")
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", swapped)
    assert report_files.log_tails(campaign, [{"log": log, "reason": "exit code 1"}]) == {}
    with pytest.raises(ValueError, match="leads out of the folder"):
        files.read_json(campaign / log, folder=campaign)


def test_nothing_is_written_where_a_link_leads(campaign):
    run = min(campaign_files.records(campaign).values(), key=lambda one: one["log"])
    folder = (campaign / run["log"]).parent
    move_out(folder, campaign)
    outside = sorted((campaign.parent / "outside").rglob("*"))
    for write in (campaign_files.write_record, campaign_files.set_aside):
        with pytest.raises(ValueError, match="leads out of the folder"):
            write(campaign, run)
    with pytest.raises(ValueError, match="leads out of the folder"):
        campaign_files.set_aside_unrecorded(campaign, run["log"])
    assert sorted((campaign.parent / "outside").rglob("*")) == outside
    with pytest.raises(ValueError, match=f"{folder} is a link that leads out of the campaign's"):
        campaign_files.kept_plan(campaign)


def test_a_link_beside_the_logs_stops_no_campaign(campaign):
    (campaign / "logs/shortcut").symlink_to("/usr")
    assert campaign_files.kept_plan(campaign)["cells"]


@pytest.mark.parametrize("key", ["p_difference", "p_equivalence"])
def test_results_may_hold_a_very_small_p_value_and_no_such_figure(tmp_path, key):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"schema": 1, "comparison": {"cells": [{key: 1e-98}]}}))
    assert results_reading.read_json(path)["comparison"]["cells"][0][key] == 1e-98
    path.write_text('{"throughput": 1e-98}')
    with pytest.raises(ValueError, match="no figure"):
        results_reading.read_json(path)


def test_results_outside_are_left_out_of_the_history(campaign):
    (campaign / "results.json").write_text('{"words": "of another file"}')
    move_out(campaign / "results.json", campaign)
    left_out = results_reading.read_campaigns(campaign.parent)[1]
    reasons = {one["folder"]: one["reason"] for one in left_out}
    assert "leads out of the folder" in reasons["mine"]


def test_a_name_that_is_no_text_costs_the_history_one_campaign(campaign):
    (campaign / "results.json").write_text("{")
    place = Path(os.fsdecode(os.fsencode(campaign.parent / "caf") + b"\xe9"))
    shutil.copytree(campaign, place)
    campaign.rename(campaign.with_name("hf_token=Zq7Xk29LmPvT4sWb8RnY1cD3"))
    left_out = results_reading.read_campaigns(campaign.parent)[1]
    reasons = {one["folder"]: one["reason"] for one in left_out}
    (named,) = (name for name in reasons if name.startswith("caf"))
    assert reasons[named] == "its name is not UTF-8; rename it"
    assert "Zq7Xk" not in json.dumps(left_out).encode().decode()
