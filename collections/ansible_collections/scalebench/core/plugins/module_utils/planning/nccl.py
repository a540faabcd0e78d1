"""NCCL's environment: the network that it is to use, and the trace that tells what it used."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping

from ..records.plans import Cell, Node, Nodes
from ..telemetry.nccl import check_expected

__all__ = ["check_names", "environment", "expected_transport"]

# First version that takes "=NAME" for exactly that name (findInterfaces in src/include/socket.h,
# ncclIbInit in src/transport/net_ib.cc); in earlier ones a name is a prefix, and "=" part of it.
_EXACT_SINCE = (2, 5, 6)
# Of interfaces and adapters (with a port, as mlx5_0:1), or a network.
_NAMES = re.compile(r"[\w.:/,-]*")
_TCP = "TCP/"


def check_names(nodes: Nodes) -> None:
    """Refuse what is no plain name: ``=``, ``^`` and patterns mean another thing to each library.

    :raises ValueError: the variable, its node, and what can stand there.
    """
    for name, node in nodes.items():
        for variable, asked in (
            ("scalebench_interface", node["interface"]),
            ("scalebench_rdma_adapters", _text(node.get("rdma_adapters") or "")),
        ):
            if not _NAMES.fullmatch(asked):
                raise ValueError(
                    f"{name}: {variable} is {asked!r}: write the names alone, with commas between"
                    " them (without =, ^, spaces or patterns)"
                )


def _text(names: Any) -> str:
    return names if isinstance(names, str) else ",".join(names)


def environment(cell: Cell, recipe: Mapping[str, Any], node: Node) -> Dict[str, str]:
    """Return the variables of NCCL for the ranks on a node.

    :param recipe: ``nccl`` is the version in its image, where that is an old one.
    """
    version = tuple(int(part) for part in recipe["nccl"].split(".")) if "nccl" in recipe else ()
    exact = "" if version and version < _EXACT_SINCE else "="
    on_gpus = cell["device"] == "gpu"
    made = {}
    if node["interface"] and "/" not in node["interface"]:
        # Nothing on CPUs reads it: there it stays as it was, so that older campaigns go on.
        made["NCCL_SOCKET_IFNAME"] = (exact if on_gpus else "") + node["interface"]
    if not on_gpus:
        return made
    adapters = node.get("rdma_adapters")
    if adapters:
        made["NCCL_IB_HCA"] = exact + _text(adapters)
    if cell["nodes"] * cell["devices_per_node"] > 1:
        # Printed when ranks connect, never by a step; module training_run has it in a file.
        made["NCCL_DEBUG"] = "INFO"
    return made


def expected_transport(cell: Cell, nodes: Nodes) -> str:
    """Return the transport that ranks must take between the nodes of a cell, empty where any may.

    By default InfiniBand on GPUs where adapters are named, or each node has an active port of it.
    On CPUs only an interface counts (``TCP/eth0``), which for NCCL is NET/Socket.

    :raises ValueError: the inventory's is none, or the nodes' interfaces differ.
    """
    leading = cell["node_names"][0]
    if cell["nodes"] == 1:
        return ""
    node = nodes[leading]
    asked = check_expected(node.get("transport") or "", leading)
    if cell["device"] != "gpu":
        for name in cell["node_names"] if asked.startswith(_TCP) else ():
            if nodes[name].get("transport") != asked:
                raise ValueError(
                    f"{name}: scalebench_transport is {nodes[name].get('transport')!r}, of"
                    f" {leading} {asked!r}: give all nodes the same, or none where the names of"
                    " their interfaces differ"
                )
        return asked if asked.startswith(_TCP) else ""
    if asked.startswith(_TCP):
        return "NET/Socket"
    if node.get("transport"):
        return asked
    has_infiniband = node.get("rdma_adapters") or all(
        _has_infiniband(nodes[name]) for name in cell["node_names"]
    )
    return "NET/IB" if has_infiniband else ""


def _has_infiniband(node: Node) -> bool:
    """Return whether a port of InfiniBand is active: those of Ethernet may serve another end."""
    return any(
        port["link_layer"] == "InfiniBand" and "ACTIVE" in (port["state"] or "")
        for device in (node["fingerprint"].get("infiniband") or {}).values()
        for port in device["ports"].values()
    )
