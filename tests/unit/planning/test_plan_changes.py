"""Differences that prevent a campaign from being continued with another plan."""

import copy
import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_changes import (
    check_same,
    check_software,
    differences,
    other_trainers,
    software_changes,
)
from campaign_data import cluster, planned


def test_the_same_plan_has_no_differences_even_through_json():
    kept = json.loads(json.dumps(planned()))
    assert differences(kept, planned()) == []


def test_another_plan_is_told_cell_by_cell():
    different = differences(planned(topology="1n1g"), planned(topology="1n1g", repeats=9))
    assert different == ["pytorch/bz2/1n1g/r50_b2_fp32: repeats was 3, is 9"]
    assert differences(planned(topology="1n1g"), planned(topology="2n1g")) == [
        "pytorch/bz2/1n1g/r50_b2_fp32 was planned and is not requested now",
        "pytorch/bz2/2n1g/r50_b2_fp32 is requested now and was not planned",
    ]


def test_another_command_is_told_by_the_words_that_differ():
    nodes = cluster(4)
    nodes["node1"]["interface"] = "eth0"
    assert differences(planned(topology="1n1g"), planned(nodes, topology="1n1g")) == [
        "pytorch/bz2/1n1g/r50_b2_fp32: command on node1 was GLOO_SOCKET_IFNAME=ib0"
        " NCCL_SOCKET_IFNAME=ib0, is GLOO_SOCKET_IFNAME=eth0 NCCL_SOCKET_IFNAME=eth0"
    ]


def test_a_campaign_of_another_plan_is_refused_with_the_options_it_was_made_with():
    with pytest.raises(ValueError, match="-e topology=1n1g -e repeats=2") as error:
        check_same("c", planned(topology="1n1g", repeats=2), planned(topology="1n1g"))
    assert "campaign c was made with another plan" in str(error.value)


def test_a_plan_of_other_code_is_refused_with_its_commit():
    nodes = cluster(4)
    nodes["node1"]["workload_dir"] = "/elsewhere"
    kept = {**planned(topology="1n1g"), "controller": {"commit": "654315c87fd1" * 3}}
    with pytest.raises(ValueError, match="changed since commit 654315c87fd1: give another -e camp"):
        check_same("c", kept, planned(nodes, topology="1n1g"))


def test_a_plan_older_than_a_factor_has_its_plain_value(later_factor):
    kept, wanted = planned(topology="1n1g"), planned(topology="1n1g")
    wanted["cells"][0]["accumulation"] = 1
    assert differences(kept, wanted) == []
    wanted["cells"][0]["accumulation"] = 4
    assert differences(kept, wanted) == ["pytorch/bz2/1n1g/r50_b2_fp32: accumulation was 1, is 4"]


def test_a_campaign_that_differs_by_a_variable_is_refused_with_its_name():
    kept, wanted = planned(topology="1n1g"), planned(topology="1n1g", repeats=9, precision="fp32")
    with pytest.raises(ValueError, match="or another -e campaign=NAME") as error:
        check_same("c", kept, wanted, ["repeats", "topology"])
    assert str(error.value).endswith(
        "-e campaign=NAME. repeats comes from a variable of the inventory; campaign_repeats: ''"
        " keeps it out"
    )


def test_other_hardware_is_another_plan():
    nodes = copy.deepcopy(cluster(4))
    nodes["node3"]["fingerprint"]["cpu_model"] = "Xeon"
    assert differences(planned(), planned(nodes)) == ["node3: cpu_model was 'AMD EPYC', is 'Xeon'"]


def test_what_a_benchmark_states_of_model_and_program_may_change():
    kept = planned(topology="1n1g")
    wanted = copy.deepcopy(kept)
    wanted["cells"][0]["model_data"] = {"name": "r50", "samples": "pictures"}
    wanted["cells"][0]["loss_scaling"] = "dynamic"
    assert differences(kept, wanted) == []
    del wanted["cells"][0]["model_data"]
    assert differences(kept, wanted) == []


def provisioned(torch="2.13.0", **files):
    """Return a plan whose nodes have these trainers and this PyTorch."""
    nodes = cluster(2)
    for node in nodes.values():
        node["workload"] = {"common/job.py": "aa", "train.py": "bb", **files}
        packages = {"torch": torch, "pip": "25.0"}
        node["fingerprint"]["frameworks"] = {"pytorch": {"packages": packages}}
    return nodes


def test_changed_trainers_and_packages_are_named_and_decided():
    kept = json.loads(json.dumps(planned(provisioned())))
    assert software_changes(kept, planned(provisioned())) == []
    now = provisioned("2.14.0", **{"train.py": "cc", "new.py": "dd"})
    del now["node1"]["workload"]["common/job.py"], now["node2"]["workload"]["common/job.py"]
    for node in now.values():
        node["fingerprint"]["frameworks"]["pytorch"]["packages"]["pip"] = "26.0"
    expected = [
        "trainer common/job.py is gone",
        "trainer new.py is new",
        "trainer train.py changed",
        "node[1-2]: pytorch: torch was 2.13.0, is 2.14.0",
    ]
    assert check_software("c", kept, planned(now), accept=True) == expected
    with pytest.raises(ValueError, match="-e accept_changes=true") as error:
        check_software("c", kept, planned(now), accept=False)
    assert all(words in str(error.value) for words in expected)


def test_trainers_that_an_older_plan_does_not_list_are_decided_and_packages_are_no_change():
    kept = {**json.loads(json.dumps(planned())), "controller": {"commit": "654315c87fd1" * 3}}
    expected = ["trainers perhaps: plan.json, of commit 654315c87fd1, does not list them"]
    assert software_changes(kept, planned(provisioned())) == expected
    assert software_changes(kept, planned()) == []


def test_trainers_that_provisioning_would_replace_are_named_and_others_may_be_there():
    copied = {"train.py": "bb", "common/job.py": "aa", "new.py": "cc"}
    on_nodes = {"train.py": "older", "common/job.py": "aa", "my.py": "dd"}
    assert other_trainers(copied, on_nodes) == ["train.py"]
    assert other_trainers(copied, {}) == []


def test_nodes_with_different_trainers_are_refused():
    nodes = provisioned()
    nodes["node2"]["workload"]["train.py"] = "older"
    with pytest.raises(ValueError, match=r"trainers of node2 are not those of node1: train.py ch"):
        planned(nodes)
