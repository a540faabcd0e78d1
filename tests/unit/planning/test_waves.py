"""Waves: what each node does at the same time, and where it goes."""

from ansible_collections.scalebench.core.plugins.module_utils.planning import plan, schedule
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from campaign_data import benchmarks, cluster

ONE_CELL = {"precision": "fp32", "batch_size_per_device": 128}


def built(packing, nodes=None, kind="measured", **options):
    nodes = nodes or cluster(4)
    cells = plan.build(benchmarks(), parse_options(options), nodes)["cells"]
    timed = [{**repeat, "kind": kind, "seconds": 10.0} for repeat in plan.repeats(cells)]
    return schedule.build_waves(timed, packing, benchmarks(), nodes)


def test_without_packing_each_repeat_has_the_cluster():
    made = built("none", topology="1n1g", repeats=2)
    assert [list(wave["shares"]) for wave in made] == [["node1"], ["node1"]]
    assert made[0]["repeats"][0]["packed_with"] == []


def test_packed_repeats_know_each_other_and_their_nodes_commands():
    (wave,) = built("nodes", topology="2n1g", repeats=2)
    first, second = wave["repeats"]
    assert first["packed_with"] == [second["log"]]
    assert second["cell"]["node_names"] == ["node3", "node4"]
    assert list(second["logs"]) == ["node3", "node4"]
    share = wave["shares"]["node4"][0]
    assert (share["log"], share["rank"]) == (second["log"], 1)
    assert share["output"] == second["log"].replace(".log", ".node4.out")
    assert "--master-addr=10.11.0.4" in share["argv"]


def test_nodes_of_one_machine_are_told_and_get_ports_of_their_own():
    (wave,) = built("nodes", cluster(4, machine="same"), topology="2n1g", repeats=2)
    assert [repeat["shares_machine"] for repeat in wave["repeats"]] == [True, True]
    ports = {name: wave["shares"][name][0]["argv"][7] for name in wave["shares"]}
    assert ports["node1"] == ports["node2"] == "--master-port=29500"
    assert ports["node3"] == ports["node4"] == "--master-port=29502"


def test_a_repeat_that_shall_run_alone_does():
    made = built("nodes", kind="alone", topology="1n1g", repeats=2)
    assert [len(wave["repeats"]) for wave in made] == [1, 1]


def test_repeats_on_devices_of_one_node_get_their_own_gpus_ports_and_locks():
    nodes = cluster(1, gpus=8)
    (wave,) = built("devices", nodes, topology="1n4g", **ONE_CELL, repeats=2)
    first, second = wave["shares"]["node1"]
    assert [first["devices"], second["devices"]] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert first["environment"]["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"
    assert second["environment"]["CUDA_VISIBLE_DEVICES"] == "4,5,6,7"
    assert "--master-port=29500" in first["argv"]
    assert "--master-port=29504" in second["argv"]
    assert [repeat["shares_machine"] for repeat in wave["repeats"]] == [True, True]
    assert wave["repeats"][1]["packed_with"] == [wave["repeats"][0]["log"]]


def test_a_node_that_is_the_repeats_alone_is_held_whole():
    for packing in ("none", "nodes"):
        (wave,) = built(packing, cluster(1, gpus=8), topology="1n4g", **ONE_CELL, repeats=1)
        assert wave["shares"]["node1"][0]["devices"] == []


def test_packed_nodes_of_one_machine_get_gpus_of_their_own():
    (wave,) = built(
        "nodes", cluster(2, gpus=2, machine="same"), topology="1n1g", **ONE_CELL, repeats=2
    )
    seen = [wave["shares"][name][0]["environment"] for name in ("node1", "node2")]
    assert [one["CUDA_VISIBLE_DEVICES"] for one in seen] == ["0", "1"]
    assert {one["CUDA_DEVICE_ORDER"] for one in seen} == {"PCI_BUS_ID"}
