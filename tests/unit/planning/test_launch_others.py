"""Paddle's, OneFlow's and MXNet's launchers, and one process a node."""

import json

import campaign_data
import pytest
from job_data import AWKWARD, launched

RANKS = "/opt/workloads/launch/start_ranks.py"


def described(command):
    """Return what start_ranks.py is to start."""
    assert command["argv"][:2] == ["/venv/bin/python", RANKS]
    return [json.loads(word) for word in command["argv"][2:]]


def test_paddle_gets_its_rank_from_the_inventory():
    argv = launched("paddle_launch", 2, per_node=8)["node2"]["argv"]
    assert argv == [
        *["/venv/bin/python", "-m", "paddle.distributed.launch", "--master=10.11.0.2:29500"],
        *["--nnodes=2", "--rank=1", "--host=10.11.0.3", "--nproc_per_node=8"],
        "/opt/workloads/train.py",
    ]


def test_paddle_1_8_looks_its_address_up():
    argv = launched("paddle_launch", 2, launcher_options={"node_ips": True})["node2"]["argv"]
    assert argv[3:6] == [
        "--cluster_node_ips=10.11.0.2,10.11.0.3",
        "--node_ip=10.11.0.3",
        "--started_port=29500",
    ]


def test_oneflows_own_launcher_runs_on_hosts():
    argv = launched("oneflow_launch", 2)["node2"]["argv"]
    assert argv[2:8] == [
        "oneflow.distributed.launch",
        *["--nnodes=2", "--node_rank=1", "--nproc_per_node=1"],
        *["--master_addr=10.11.0.2", "--master_port=29500"],
    ]


def test_oneflows_ranks_on_one_machine_start_directly():
    nodes = campaign_data.cluster(2, machine="same")
    (rank,) = described(launched("oneflow_launch", nodes=nodes)["node2"])
    assert rank["argv"] == ["/venv/bin/python", "/opt/workloads/train.py"]
    assert rank["environment"] == {
        "MASTER_ADDR": "10.11.0.2",
        "MASTER_PORT": "29500",
        "WORLD_SIZE": "2",
        "RANK": "1",
        "LOCAL_RANK": "1",
        "NODE_SIZE": "1",
    }


def test_the_kvstores_scheduler_is_on_the_first_node_and_a_server_on_each():
    made = launched("kvstore", 2, per_node=2)
    names = {name: [one["name"] for one in described(made[name])] for name in made}
    assert names == {
        "node1": ["scheduler", "server", "worker 0", "worker 1"],
        "node2": ["server", "worker 2", "worker 3"],
    }
    server, worker, _ = described(made["node2"])
    assert server["serves"] and "serves" not in worker
    assert worker["environment"]["DMLC_ROLE"] == "worker"
    assert (worker["environment"]["RANK"], worker["environment"]["WORLD_SIZE"]) == ("2", "4")
    environment = made["node2"]["env"]
    assert {key: environment[key] for key in environment if key.startswith("DMLC")} == {
        "DMLC_PS_ROOT_URI": "10.11.0.2",
        "DMLC_PS_ROOT_PORT": "29500",
        "DMLC_NUM_WORKER": "4",
        "DMLC_NUM_SERVER": "2",
        "DMLC_NODE_HOST": "10.11.0.3",
        "DMLC_INTERFACE": "ib0",
    }


def test_a_single_worker_needs_no_kvstore():
    command = launched("kvstore", 1)["node1"]
    assert command["argv"] == ["/venv/bin/python", "/opt/workloads/train.py"]
    assert not [key for key in command["env"] if key.startswith("DMLC")]


def test_per_node_runs_the_program_itself():
    command = launched("per_node", 2, program=["run", "{node_addresses}"], workload=None)["node2"]
    assert command["argv"] == ["run", "10.11.0.2,10.11.0.3"]
    assert (command["env"]["RANK"], command["env"]["WORLD_SIZE"]) == ("1", "2")
    assert command["env"]["MASTER_ADDR"] == "10.11.0.2"


@pytest.mark.parametrize("launcher", ["torchrun", "paddle_launch", "oneflow_launch", "per_node"])
def test_no_value_is_split_or_quoted(launcher):
    argv = launched(launcher, arguments=AWKWARD)["node2"]["argv"]
    assert argv[-len(AWKWARD) :] == AWKWARD


@pytest.mark.parametrize("launcher", ["kvstore", "oneflow_launch"])
def test_no_value_of_a_described_rank_is_split_or_quoted(launcher):
    nodes = campaign_data.cluster(2, machine="same")
    ranks = described(launched(launcher, nodes=nodes, arguments=AWKWARD)["node2"])
    assert ranks[-1]["argv"][-len(AWKWARD) :] == AWKWARD


@pytest.mark.parametrize("launcher", ["torchrun", "per_node", "mpirun"])
def test_a_value_of_two_lines_is_refused(launcher):
    with pytest.raises(ValueError, match=r"the command on node1: 'a\\nb' has more than one line"):
        launched(launcher, arguments=["a\nb"])


def test_additions_come_in_order_where_they_apply():
    made = launched(
        "per_node",
        2,
        arguments=["first"],
        environment={"BATCH": "{batch_size_per_node} of {global_batch_size}"},
        additions=[
            {"when": {"nodes": [2, 4]}, "arguments": ["many"], "environment": {"NODES": "{nodes}"}},
            {"when": {"nodes": 1}, "arguments": ["single"]},
            {
                "when": {"xla": False, "precision": "fp32"},
                "arguments": ["--steps={total_iterations}"],
            },
        ],
    )["node1"]
    assert made["argv"][-3:] == ["first", "many", "--steps=120"]
    assert (made["env"]["BATCH"], made["env"]["NODES"]) == ("4 of 8", "2")
