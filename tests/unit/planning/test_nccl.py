"""What NCCL's ranks are told: interface, adapters, and where they say what they took."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.nccl import (
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
    assert told(device="cpu", rdma_adapters=["mlx5_0"]) == {"NCCL_SOCKET_IFNAME": "=ib0"}


def expected(count=2, device="gpu", **node):
    nodes = cluster(count, gpus=8, **node)
    return expected_transport(job_cell(nodes, 8, device=device), nodes)


def test_adapters_mean_infiniband_between_nodes():
    assert expected() == ""
    assert expected(rdma_adapters=["mlx5_0"]) == "NET/IB"
    assert expected(1, rdma_adapters=["mlx5_0"]) == ""
    assert expected(device="cpu", rdma_adapters=["mlx5_0"]) == ""


def test_the_inventory_may_expect_another_or_none():
    assert expected(transport="NET/Socket", rdma_adapters=["mlx5_0"]) == "NET/Socket"
    assert expected(transport="any", rdma_adapters=["mlx5_0"]) == ""
    with pytest.raises(ValueError, match="node1: scalebench_transport is 'tcp'"):
        expected(transport="tcp")


def test_the_plan_says_what_each_cell_must_take():
    nodes = cluster(2, gpus=2, rdma_adapters=["mlx5_0"])
    options = parse_options({"topology": "1n1g,1n2g,2n2g", "precision": "fp32"})
    cells = plan.build(benchmarks(), options, nodes)["cells"]
    expected = {cell["topology"]: cell.get("transport") for cell in cells}
    assert expected == {"1n1g": None, "1n2g": None, "2n2g": "NET/IB"}
    told = {cell["topology"]: "NCCL_DEBUG" in cell["commands"]["node1"]["env"] for cell in cells}
    assert told == {"1n1g": False, "1n2g": True, "2n2g": True}
