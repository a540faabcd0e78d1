"""What campaign_plan plans, keeps, continues and refuses."""

import json
from pathlib import Path

import pytest
from action_calls import plugin, result
from ansible.errors import AnsibleActionFail
from ansible_collections.scalebench.core.plugins.module_utils.node.machine import digest
from campaign_data import ROOT, cluster
from written_logs import write_log

from action_plugins import campaign_plan


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


def test_a_search_on_cpus_needs_a_limit_of_memory_on_each_node_that_may_run_it(tmp_path, forks):
    def planned(packing, *limits):
        memory = {f"node{number}": limit for number, limit in enumerate(limits, 1)}
        asked = {"topology": "2n1g", "batch_size_per_device": "max", "packing": packing}
        args = plan_args(tmp_path, asked, nodes=cluster(3), memory_mib=memory)
        return result(campaign_plan, args, check=True)["cells"]

    with pytest.raises(AnsibleActionFail, match=r"\(node2 without one\)"):
        planned("none", 4096, 0, 0)
    assert planned("none", 4096, 2048, 0)
    with pytest.raises(AnsibleActionFail, match=r"\(node3 without one\)"):
        planned("nodes", 4096, 2048, 0)
    # An absent node of a continued campaign has none, and runs nothing.
    assert planned("nodes", 4096, 2048)


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
        ({}, {"campaign": "a" * 201}, "aaa: a campaign's name is a folder's name: up to 200"),
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


@pytest.mark.parametrize("packing", ["none", "nodes", "devices"])
def test_a_plan_without_a_node_left_has_no_time(packing):
    assert campaign_plan._bound([], {}, packing) == 0
