"""The commands of a cell: ranks, addresses, devices, arguments."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning.launch import commands
from ansible_collections.scalebench.core.plugins.module_utils.planning.matrix import expand
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.seating import data_workers
from campaign_data import benchmarks, cluster


def launched(nodes, **options):
    cell = expand(benchmarks(), parse_options(options), nodes)[0]
    recipe = benchmarks()["pytorch"]["recipes"]["portable"]
    return commands(cell, recipe, nodes)


def test_torchrun_gets_its_rank_and_the_leading_nodes_address():
    made = launched(cluster(4), topology="2n1g", precision="amp")
    assert [command["rank"] for command in made.values()] == [0, 1]
    assert made["node2"]["argv"][:3] == ["/venv/bin/python", "-m", "torch.distributed.run"]
    assert "--node-rank=1" in made["node2"]["argv"]
    assert "--master-addr=10.11.0.2" in made["node2"]["argv"]
    assert made["node2"]["argv"][8] == "/opt/workloads/resnet50/train_pytorch.py"
    assert "--precision=amp" in made["node2"]["argv"]


def test_cpu_ranks_are_bound_to_threads_and_interface():
    environment = launched(cluster(4), topology="2n1g")["node1"]["env"]
    assert environment["OMP_NUM_THREADS"] == "1"
    assert environment["GLOO_SOCKET_IFNAME"] == "ib0"


def test_gpu_ranks_see_their_devices_only():
    made = launched(cluster(2, gpus=8), topology="2n4g", batch_size_per_device=8)
    assert {name: command["env"]["CUDA_VISIBLE_DEVICES"] for name, command in made.items()} == {
        "node1": "0,1,2,3",
        "node2": "0,1,2,3",
    }
    assert "OMP_NUM_THREADS" not in made["node1"]["env"]


def test_nodes_of_one_machine_get_different_gpus():
    made = launched(cluster(2, gpus=2, machine="same"), topology="2n1g", batch_size_per_device=8)
    assert [command["env"]["CUDA_VISIBLE_DEVICES"] for command in made.values()] == ["0", "1"]


def test_real_data_adds_its_folder():
    made = launched(cluster(1), topology="1n1g", data="real")
    assert {"--data-dir=/data", "--workers=2"} < set(made["node1"]["argv"])


def test_no_value_is_split_or_quoted():
    nodes = cluster(1)
    nodes["node1"]["data_dir"] = "/data/my images; rm -rf '$HOME'"
    made = launched(nodes, topology="1n1g", data="real")
    assert "--data-dir=/data/my images; rm -rf '$HOME'" in made["node1"]["argv"]


def test_a_node_that_nothing_is_known_of_is_named():
    nodes = cluster(2)
    cell = expand(benchmarks(), {"topology": ["2n1g"]}, nodes)[0]
    with pytest.raises(ValueError, match="pytorch/bz2/2n1g: nothing is known of node2"):
        commands(cell, benchmarks()["pytorch"]["recipes"]["portable"], {"node1": nodes["node1"]})


@pytest.mark.parametrize(
    ("machines", "devices", "cores", "workers"),
    [
        (["a"], 8, 96, 12),  # the other GPUs may be another repeat's
        (["a", "b"], 8, 96, 12),
        (["a", "a"], 1, 4, 2),  # nodes of one machine
        (["a", "a"], 1, 1, 1),
        (["", ""], 1, 4, 4),  # no boot_id is known: not one machine
    ],
)
def test_reader_processes_are_the_cores_of_a_device(machines, devices, cores, workers):
    nodes = {
        f"node{number}": {"devices": devices, "fingerprint": {"boot_id": boot, "cores": cores}}
        for number, boot in enumerate(machines)
    }
    cell = {"node_names": list(nodes), "devices_per_node": 1}
    assert data_workers(cell, nodes) == dict.fromkeys(nodes, workers)


def test_containers_with_a_cpu_quota_each_read_with_their_own_cores():
    def workers(*shares):
        nodes = {
            f"node{number}": {
                "devices": 2,
                "fingerprint": {
                    "boot_id": "a",
                    "cores": cores,
                    "cpu_quota": cgroup and {"cgroup": cgroup, "allowed": 64},
                },
            }
            for number, (cgroup, cores) in enumerate(shares)
        }
        return [*data_workers({"node_names": list(nodes)}, nodes).values()]

    assert workers((1, 8), (2, 8)) == [4, 4]
    assert workers((1, 4), (2, 16)) == [2, 8]
    assert workers((1, 8), (1, 8)) == [2, 2]  # one quota for both
    assert workers((None, 8), (None, 4)) == [2, 1]
