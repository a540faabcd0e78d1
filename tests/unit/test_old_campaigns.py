"""Module old_campaigns on real folders: what is removed, what stays and why."""

import json
import os
import time

import pytest

from library import old_campaigns

DAY = 86400


@pytest.fixture
def runs(tmp_path):
    """Make the runs of four campaigns, 0, 10, 40 and 400 days old, beside a file and a link."""
    folder = tmp_path / "work/runs"
    for name, days in (("new", 0), ("week", 10), ("nccl-a", 40), ("nccl-b", 400)):
        log = folder / name / "pytorch/1n1g/one.log"
        log.parent.mkdir(parents=True)
        log.write_text("x" * 100_000)
        for path in (log, *list(log.parents)[:3]):
            os.utime(path, (0, time.time() - days * DAY))
    (folder / "notes.txt").write_text("mine")
    (folder / "elsewhere").symlink_to(tmp_path)
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


ALL = ["elsewhere", "nccl-a", "nccl-b", "new", "notes.txt", "week"]


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({}, ALL),
        ({"older_than": 30}, ["elsewhere", "new", "notes.txt", "week"]),
        ({"campaigns": ["nccl-*"]}, ["elsewhere", "new", "notes.txt", "week"]),
        ({"campaigns": ["nccl-*", "week"], "older_than": 100}, sorted({*ALL} - {"nccl-b"})),
        ({"campaigns": ["*"]}, ["elsewhere", "notes.txt"]),
        ({"campaigns": ["*"], "in_use": ["week"]}, ["elsewhere", "notes.txt", "week"]),
        ({"campaigns": ["../runs"], "older_than": 0}, ALL),
    ],
)
def test_what_is_named_or_old_is_removed(run, runs, given, left):
    would = run(old_campaigns, check=True, path=str(runs), **given)
    assert names(runs) == ALL
    done = run(old_campaigns, path=str(runs), **given)
    assert names(runs) == left
    assert would["changed"] == done["changed"] == (left != ALL)
    assert would["campaigns"] == done["campaigns"]
    assert run(old_campaigns, path=str(runs), **given)["changed"] is False


@pytest.mark.parametrize("given", ["-5", "nan", "inf", "90d", "", "1e400", -0.1])
def test_an_age_that_is_none_removes_nothing(run, runs, given):
    for more in ({}, {"campaigns": ["*"]}):
        failed = run(old_campaigns, path=str(runs), older_than=given, **more)
        assert failed["msg"] == f"older_than={given}: give days, a number of 0 or more"
        assert names(runs) == ALL


def test_a_campaign_is_as_old_as_its_newest_file(run, runs):
    os.utime(runs / "nccl-b/pytorch/1n1g/one.log")
    run(old_campaigns, path=str(runs), older_than=30)
    assert names(runs) == sorted({*ALL} - {"nccl-a"})


def test_the_campaign_that_holds_the_node_stays(run, runs):
    (runs.parent / "claim.json").write_text(
        json.dumps({"boot_id": "b", "pid": 1, "start": 1, "campaign": "nccl-b"})
    )
    done = run(old_campaigns, path=str(runs), work_dir=str(runs.parent), older_than=30)
    assert names(runs) == sorted({*ALL} - {"nccl-a"})
    assert done["in_use"] == ["nccl-b"]
    assert done["summary"] == (
        "1 removed, 0.1 MiB (nccl-a); 1 kept, a node is claimed for it, 0.1 MiB (nccl-b);"
        " 2 kept, not older than 30 days, 0.2 MiB (new, week)"
    )


def test_campaigns_that_stay_for_the_same_reason_are_told_together(run, runs):
    done = run(old_campaigns, path=str(runs), older_than=1000, in_use=["nccl-b"])
    assert done["summary"] == (
        "1 kept, a node is claimed for it, 0.1 MiB (nccl-b);"
        " 3 kept, not older than 1000 days, 0.3 MiB (nccl-a, new, week)"
    )


def test_a_folder_without_a_plan_is_no_campaign_of_this_machine(run, runs):
    (runs / "week/plan.json").write_text("{}")
    run(old_campaigns, path=str(runs), campaigns=["*"], holding="plan.json")
    assert names(runs) == sorted({*ALL} - {"week"})


def test_a_campaign_stays_whose_nodes_were_not_all_asked(run, runs):
    plans = {"new": '{"nodes": {"node1": {}}}', "nccl-a": '{"nodes": {"node2": {}}}', "week": "{"}
    for name, text in plans.items():
        (runs / name / "plan.json").write_text(text)
    given = {"campaigns": ["*"], "holding": "plan.json", "unasked": ["node2", "node3"]}
    done = run(old_campaigns, path=str(runs), **given)
    assert names(runs) == sorted({*ALL} - {"new"})
    assert "1 kept, it may run on node2, not asked (--limit, or unreachable)" in done["summary"]
    # Without a readable plan it may run anywhere.
    assert "1 kept, it may run on node[2-3], not asked" in done["summary"]


@pytest.mark.parametrize("holding", ["", "plan.json"])
def test_a_removal_that_was_killed_leaves_no_campaign_and_the_next_one_ends_it(
    run, runs, monkeypatch, holding
):
    (runs / "week/plan.json").write_text("{}")
    given = {"path": str(runs), "holding": holding}

    def be_killed(_folder):
        raise KeyboardInterrupt

    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(old_campaigns.shutil, "rmtree", be_killed)
        run(old_campaigns, campaigns=["week"], **given)
    (left,) = set(names(runs)) - {*ALL}
    assert "week" not in names(runs) and (runs / left / "plan.json").exists() != bool(holding)
    for mode in ({}, {"check": True, "campaigns": ["none"]}):
        done = run(old_campaigns, **mode, **given)
        assert left in names(runs) and "week" not in done["summary"]
        assert done["changed"] == bool(mode)
    # One of the same name is another campaign.
    (runs / "week").mkdir()
    (runs / "week/plan.json").write_text("{}")
    assert run(old_campaigns, campaigns=["week"], **given)["changed"]
    assert names(runs) == sorted({*ALL} - {"week"})
    assert not run(old_campaigns, campaigns=["week"], **given)["changed"]


def test_a_node_without_runs_has_nothing_to_remove(run, tmp_path):
    done = run(old_campaigns, path=str(tmp_path / "none"), campaigns=["*"])
    assert (done["changed"], done["summary"]) == (False, "no campaigns")


def test_a_plan_that_is_none_names_no_nodes(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "deep").write_text("[" * 100_000)
    (tmp_path / "plan").write_text('{"nodes": {"a": {}}}')
    found = [old_campaigns.planned_nodes(str(tmp_path / name)) for name in ("pipe", "deep", "plan")]
    assert found == [None, None, ["a"]]
