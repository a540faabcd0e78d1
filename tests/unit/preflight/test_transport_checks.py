"""Whether messages between the nodes will take the way that the inventory expects."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.preflight.transport_checks import (
    transport_checks,
)

PORT = {"state": "4: ACTIVE", "link_layer": "InfiniBand", "rate": "100 Gb/sec (4X EDR)"}


def node(number, **changes):
    """Return a node with two interfaces, each in a network of its own, and an active port."""
    fingerprint = {
        "interfaces": {name: {"mtu": 1500} for name in ("lo", "eth0", "eth1")},
        "infiniband": {"mlx5_0": {"ports": {"1": PORT}}},
        "gpus": changes.pop("gpus", []),
    }
    facts = {
        "addresses": {"lo": "127.0.0.1", "eth0": f"10.11.0.{number}", "eth1": f"10.12.0.{number}"},
        "routes": [
            {"interface": "eth1", "network": "0.0.0.0/0", "metric": 100},
            {"interface": "eth0", "network": "10.11.0.0/16", "metric": 100},
            {"interface": "eth1", "network": "10.12.0.0/16", "metric": 100},
        ],
    }
    return {"fingerprint": fingerprint, **facts, **changes}


def cluster(**changes):
    return {f"node{number}": node(number, **changes) for number in (1, 2, 3)}


def rows(nodes):
    return {row["node"]: row for row in transport_checks(nodes)}


def verdicts(nodes):
    return [row["verdict"] for row in transport_checks(nodes)]


@pytest.mark.parametrize(
    "asked",
    [
        {"transport": "TCP/eth0"},
        {"transport": "TCP/eth1", "interface": "eth1"},
        {"transport": "NET/Socket", "interface": "eth0:10.11.0.1"},
        {"interface": "eth1"},
        {"transport": "NET/IB", "gpus": ["V100"], "interface": "eth0"},
        {"transport": "NET/IB/GDRDMA", "gpus": ["V100"], "gpu_direct": "nvidia_peermem"},
    ],
)
def test_what_can_be_taken_passes(asked):
    assert verdicts(cluster(**asked)) == ["pass"] * 3


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"transport": "any"},
        {"interface": "10.11.0.0/16"},
        {"interface": "eth0,eth1"},
        {"transport": "NET/IB"},
        {"transport": "NET/Plugin", "interface": "eth0"},
    ],
)
def test_what_cannot_be_known_before_a_repeat_is_skipped(asked):
    assert verdicts(cluster(**asked)) == ["skip"] * 3


def test_two_nodes_are_checked():
    two = {f"node{number}": node(number, transport="TCP/eth0") for number in (1, 2)}
    assert verdicts(two) == ["pass"] * 2
    two["node2"]["interface"] = "eth1"
    assert verdicts(two) == ["pass", "fail"]


def test_one_node_is_skipped():
    (row,) = transport_checks({"node1": node(1, transport="TCP/eth9")})
    assert (row["verdict"], row["found"]) == ("skip", "one node has no other")


def down(one):
    del one["fingerprint"]["interfaces"]["eth0"]


def without_address(one):
    del one["addresses"]["eth0"]


def no_route(one):
    one["routes"] = one["routes"][2:]


def other_route(one):
    one["routes"][1]["interface"] = "eth1"


def lower_metric(one):
    one["routes"].append({"interface": "eth1", "network": "10.11.0.0/16", "metric": 50})


def longer_prefix(one):
    one["routes"].append({"interface": "eth1", "network": "10.11.0.3/32", "metric": 900})


def refused(one):
    one["routes"].append({"interface": "", "network": "10.11.0.0/24", "metric": 0})


def other_interface(one):
    one["interface"] = "eth1"


@pytest.mark.parametrize(
    ("wrong", "found", "todo"),
    [
        (down, "eth0 is missing or down", "up are eth1, lo"),
        (without_address, "eth0 has no IPv4 address", "addresses: eth1 10.12.0.2, lo 127.0.0.1"),
        (no_route, "there is no route: to node1 (10.11.0.1 on eth0)", "ip route get 10.11.0.1"),
        (other_route, "TCP/eth1 is there: to node1 (10.11.0.1 on eth0)", "ip route get 10.11.0.1"),
        (lower_metric, "TCP/eth1 is there: to node1 (10.11.0.1 on eth0)", "routes"),
        (longer_prefix, "TCP/eth1 is there: to node3 (10.11.0.3 on eth0)", "ip route get"),
        (refused, "there is no route: to node1 (10.11.0.1 on eth0)", "ip route get 10.11.0.1"),
        (other_interface, "scalebench_interface is eth1", "the same interface"),
    ],
)
def test_another_way_over_tcp_fails_by_name(wrong, found, todo):
    nodes = cluster(transport="TCP/eth0", interface="eth0")
    wrong(nodes["node2"])
    failed = {name: row for name, row in rows(nodes).items() if row["verdict"] != "pass"}
    assert list(failed) == ["node2"], failed
    assert failed["node2"]["verdict"] == "fail"
    assert failed["node2"]["found"] == f"TCP/eth0 expected, {found}"
    assert todo in failed["node2"]["todo"]


def test_the_variable_that_named_a_missing_link_is_told():
    for transport, variable in (("TCP/eth0", "scalebench_transport"), ("", "scalebench_interface")):
        nodes = cluster(transport=transport, interface="eth0")
        down(nodes["node2"])
        assert f"or correct {variable}" in rows(nodes)["node2"]["todo"]


def test_nodes_that_are_one_machine_talk_by_its_loopback():
    nodes = cluster(interface="eth0")
    for one in nodes.values():
        one["addresses"]["eth0"] = "10.11.0.1"
    assert "TCP/lo is there" in rows(nodes)["node1"]["found"]
    alone = cluster(interface="lo")
    assert verdicts(alone) == ["pass"] * 3


def port_down(one):
    one["fingerprint"]["infiniband"]["mlx5_0"]["ports"]["1"] = {**PORT, "state": "1: DOWN"}


def ethernet(one):
    one["fingerprint"]["infiniband"]["mlx5_0"]["ports"]["1"] = {**PORT, "link_layer": "Ethernet"}


def no_peer_memory(one):
    one["gpu_direct"] = ""


@pytest.mark.parametrize(
    ("wrong", "failing", "found"),
    [
        (port_down, ["node2"], "no active RDMA port: NCCL would take NET/Socket"),
        (ethernet, ["node2"], "only Ethernet is active, on the other nodes InfiniBand"),
        (no_peer_memory, ["node2"], "nvidia_peermem is not loaded: NCCL would take NET/IB"),
    ],
)
def test_another_way_than_infiniband_fails_by_name(wrong, failing, found):
    nodes = cluster(transport="NET/IB/GDRDMA", gpus=["V100"], gpu_direct="nvidia_peermem")
    wrong(nodes["node2"])
    failed = {name: row for name, row in rows(nodes).items() if row["verdict"] == "fail"}
    assert list(failed) == failing
    assert failed["node2"]["found"] == f"NET/IB/GDRDMA expected, {found}"


def test_sockets_that_nccl_would_not_take_are_a_warning():
    nodes = cluster(transport="TCP/eth0", gpus=["V100"])
    assert verdicts(nodes) == ["warn"] * 3
    assert "NCCL takes NET/IB" in rows(nodes)["node1"]["found"]


def test_a_node_that_tells_no_routes_is_unknown():
    nodes = cluster(transport="TCP/eth0")
    del nodes["node2"]["routes"]
    row = rows(nodes)["node2"]
    assert row["verdict"] == "warn" and "unknown" in row["found"]


def test_a_way_that_is_none_fails_on_its_node():
    nodes = cluster(transport="TCP/eth0")
    nodes["node2"]["transport"] = "tcp"
    assert [(name, row["verdict"]) for name, row in sorted(rows(nodes).items())] == [
        ("node1", "pass"),
        ("node2", "fail"),
        ("node3", "pass"),
    ]
