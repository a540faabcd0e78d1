"""NCCL's environment: the network that it is to use, and the trace that tells what it used."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ..logs.nccl import check_expected
from ..records.plans import Cell, Node, Nodes

__all__ = ["environment", "expected_transport"]

# First version that takes "=NAME" for exactly that name (findInterfaces in src/include/socket.h,
# ncclIbInit in src/transport/net_ib.cc); in earlier ones a name is a prefix, and "=" part of it.
_EXACT_SINCE = (2, 5, 6)


def environment(cell: Cell, recipe: Mapping[str, Any], node: Node) -> Dict[str, str]:
    """Return the variables of NCCL for the ranks on a node.

    :param recipe: ``nccl`` is the version in its image, where that is an old one.
    """
    version = tuple(int(part) for part in recipe["nccl"].split(".")) if "nccl" in recipe else ()
    exact = "" if version and version < _EXACT_SINCE else "="
    made = {}
    if node["interface"] and "/" not in node["interface"]:
        made["NCCL_SOCKET_IFNAME"] = exact + node["interface"]
    if cell["device"] != "gpu":
        return made
    adapters = node.get("rdma_adapters")
    if adapters:
        made["NCCL_IB_HCA"] = exact + (
            adapters if isinstance(adapters, str) else ",".join(adapters)
        )
    if cell["nodes"] * cell["devices_per_node"] > 1:
        # Printed when ranks connect, never by a step; module training_run has it in a file.
        made["NCCL_DEBUG"] = "INFO"
    return made


def expected_transport(cell: Cell, nodes: Nodes) -> str:
    """Return the transport that NCCL must take between the nodes of a cell, empty where any may.

    :raises ValueError: the inventory's is none.
    """
    leading = cell["node_names"][0]
    if cell["device"] != "gpu" or cell["nodes"] == 1:
        return ""
    node = nodes[leading]
    derived = "NET/IB" if node.get("rdma_adapters") else ""
    return check_expected(node.get("transport") or derived, leading)
