"""Waves: what each node does at the same time, and where it goes."""

from ansible_collections.scalebench.core.plugins.module_utils import plan, waves
from ansible_collections.scalebench.core.plugins.module_utils.options import parse_options
from campaign_data import benchmarks, cluster


def built(packing, nodes=None, kind="measured", **options):
    nodes = nodes or cluster(4)
    cells = plan.build(benchmarks(), parse_options(options), nodes)["cells"]
    timed = [{**repeat, "kind": kind, "seconds": 10.0} for repeat in plan.repeats(cells)]
    return waves.build(timed, packing, benchmarks(), nodes)


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
    share = wave["shares"]["node4"]
    assert (share["log"], share["rank"]) == (second["log"], 1)
    assert share["output"] == second["log"].replace(".log", ".node4.out")
    assert "--master-addr=10.11.0.4" in share["argv"]


def test_nodes_of_one_machine_are_told_and_get_ports_of_their_own():
    (wave,) = built("nodes", cluster(4, machine="same"), topology="2n1g", repeats=2)
    assert [repeat["shares_machine"] for repeat in wave["repeats"]] == [True, True]
    ports = {name: wave["shares"][name]["argv"][7] for name in wave["shares"]}
    assert ports["node1"] == ports["node2"] == "--master-port=29500"
    assert ports["node3"] == ports["node4"] == "--master-port=29502"


def test_a_repeat_that_shall_run_alone_does():
    made = built("nodes", kind="alone", topology="1n1g", repeats=2)
    assert [len(wave["repeats"]) for wave in made] == [1, 1]
