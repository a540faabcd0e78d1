"""What NCCL's ranks are told: interface, adapters, and where they say what they took."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.nccl import (
    check_names,
    environment,
    expected_transport,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from campaign_data import benchmarks, cluster
from job_data import job_cell


def told(count=2, per_node=8, recipe=None, device="gpu", **node):
    nodes = cluster(count, gpus=per_node, **node)
    cell = job_cell(nodes, per_node, device=device)
    return environment(cell, recipe or {}, nodes["node1"])


def test_interface_and_adapters_are_exact_names():
    made = told(rdma_adapters=["mlx5_0", "mlx5_1:1"])
    assert made["NCCL_SOCKET_IFNAME"] == "=ib0"
    assert made["NCCL_IB_HCA"] == "=mlx5_0,mlx5_1:1"
    assert told(rdma_adapters="mlx5_0,mlx5_1")["NCCL_IB_HCA"] == "=mlx5_0,mlx5_1"


@pytest.mark.parametrize(("version", "exact"), [("2.4.7", ""), ("2.5.6", "="), ("2.10.3", "=")])
def test_an_old_nccl_knows_prefixes_only(version, exact):
    made = told(recipe={"nccl": version}, rdma_adapters=["mlx5_0"])
    assert made["NCCL_SOCKET_IFNAME"] == f"{exact}ib0"
    assert made["NCCL_IB_HCA"] == f"{exact}mlx5_0"


def test_without_adapters_nccl_chooses():
    assert "NCCL_IB_HCA" not in told()


def test_a_network_is_no_interface():
    assert "NCCL_SOCKET_IFNAME" not in told(interface="10.11.0.0/24")


def test_only_gpus_that_have_others_tell_how_they_are_connected():
    assert told()["NCCL_DEBUG"] == "INFO"
    assert told(1, 2)["NCCL_DEBUG"] == "INFO"
    assert "NCCL_DEBUG" not in told(1, 1)
    assert told(device="cpu", rdma_adapters=["mlx5_0"]) == {"NCCL_SOCKET_IFNAME": "ib0"}


def expected(count=2, device="gpu", **node):
    nodes = cluster(count, gpus=8, **node)
    return expected_transport(job_cell(nodes, 8, device=device), nodes)


def test_adapters_mean_infiniband_between_nodes():
    assert expected() == ""
    assert expected(rdma_adapters=["mlx5_0"]) == "NET/IB"
    assert expected(1, rdma_adapters=["mlx5_0"]) == ""
    assert expected(device="cpu", rdma_adapters=["mlx5_0"]) == ""


def ports(state="4: ACTIVE", link_layer="InfiniBand"):
    port = {"rate": "100 Gb/sec (4X EDR)", "state": state, "link_layer": link_layer}
    return {"mlx5_0": {"type": "MT4119", "ports": {"1": port}}}


def expected_by_ports(*of_nodes, **node):
    nodes = cluster(len(of_nodes), gpus=8, **node)
    for one, its_ports in zip(nodes.values(), of_nodes, strict=True):
        one["fingerprint"]["infiniband"] = its_ports
    return expected_transport(job_cell(nodes, 8, device="gpu"), nodes)


def test_active_infiniband_on_every_node_is_expected_to_be_taken():
    assert expected_by_ports(ports(), ports()) == "NET/IB"
    assert expected_by_ports(ports(), ports(), transport="any") == ""
    for other in ({}, ports("1: DOWN"), ports(None), ports(link_layer="Ethernet")):
        assert expected_by_ports(ports(), other) == expected_by_ports(other, ports()) == ""


@pytest.mark.parametrize(
    ("variable", "asked"),
    [
        *(("interface", asked) for asked in ("=ib0", "^docker0,lo", "ib0, ib1", "ib*")),
        *(("rdma_adapters", asked) for asked in ("=mlx5_0", "^mlx5_2", ["mlx5_0", "^mlx5_1"])),
        ("rdma_adapters", ["mlx5_[0-3]"]),
    ],
)
def test_names_are_plain(variable, asked):
    nodes = cluster(2)
    nodes["node2"][variable] = asked
    with pytest.raises(ValueError, match=f"node2: scalebench_{variable} is .*the names alone"):
        plan.build(benchmarks(), parse_options({"topology": "1n1g"}), nodes)


def test_plain_names_are_taken():
    for asked in ("", "ib0", "ib0,bond0.12", "enp1s0f0np0:1", "br-1", "10.11.0.0/24"):
        check_names(cluster(2, interface=asked, rdma_adapters=["mlx5_0", "mlx5_1:1"]))


def test_the_inventory_may_expect_another_or_none():
    assert expected(transport="NET/Socket", rdma_adapters=["mlx5_0"]) == "NET/Socket"
    assert expected(transport="any", rdma_adapters=["mlx5_0"]) == ""
    assert expected(transport="TCP/eth0", rdma_adapters=["mlx5_0"]) == "NET/Socket"
    assert expected(transport="TCP/eth0", device="cpu") == "TCP/eth0"
    assert expected(transport="NET/IB", device="cpu") == ""
    with pytest.raises(ValueError, match="node1: scalebench_transport is 'tcp'"):
        expected(transport="tcp")


def test_nodes_whose_interfaces_differ_are_refused():
    nodes = cluster(2, transport="TCP/eth0")
    nodes["node2"]["transport"] = "TCP/ens3"
    with pytest.raises(ValueError, match="node2: scalebench_transport is 'TCP/ens3', of node1"):
        expected_transport(job_cell(nodes, 1, device="cpu"), nodes)


def test_the_plan_says_what_each_cell_must_take():
    nodes = cluster(2, gpus=2, rdma_adapters=["mlx5_0"])
    options = parse_options({"topology": "1n1g,1n2g,2n2g", "precision": "fp32"})
    cells = plan.build(benchmarks(), options, nodes)["cells"]
    expected = {cell["topology"]: cell.get("transport") for cell in cells}
    assert expected == {"1n1g": None, "1n2g": None, "2n2g": "NET/IB"}
    told = {cell["topology"]: "NCCL_DEBUG" in cell["commands"]["node1"]["env"] for cell in cells}
    assert told == {"1n1g": False, "1n2g": True, "2n2g": True}
