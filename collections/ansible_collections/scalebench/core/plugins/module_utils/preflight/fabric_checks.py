"""Checks of InfiniBand, of what a container sees of it, and of what all nodes must have alike."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from .verdict import FAIL, PASS, SKIP, Nodes, Row, agreement, verdict

__all__ = ["fabric_checks"]


def fabric_checks(nodes: Nodes, expected: Mapping[str, Any]) -> List[Row]:
    """Return the rows about InfiniBand and containers.

    :param expected: may have ``infiniband_ports``, how many active ports a node has.
    """
    told = "install {wanted} on this node as on the others: role mlnx_ofed"
    rows = agreement("OFED", nodes, lambda node: node["fingerprint"].get("ofed"), FAIL, told)
    for name, node in nodes.items():
        rows += [_ports(name, node), _in_container(name, node)]
    todo = "see cable, switch and subnet manager: ibstat, iblinkinfo"
    wanted = expected.get("infiniband_ports")
    rows += agreement("active InfiniBand ports", nodes, _active, FAIL, todo, wanted)
    again = "provision again, so that all nodes have {wanted}"
    return rows + agreement("image", nodes, lambda node: node.get("image"), FAIL, again)


def _active(node: Mapping[str, Any]) -> Optional[int]:
    devices = node["fingerprint"].get("infiniband") or {}
    ports = [port for device in devices.values() for port in device["ports"].values()]
    return len([port for port in ports if "ACTIVE" in (port["state"] or "")]) if ports else None


def _ports(name: str, node: Mapping[str, Any]) -> Row:
    """Judge the ports: one that is down slows a job to the rest of them, without a word."""
    devices = node["fingerprint"].get("infiniband") or {}
    if not devices:
        return verdict("InfiniBand", name, SKIP, "the node has no RDMA device")
    down = [
        f"{device}/{number} {port['state']}"
        for device, told in sorted(devices.items())
        for number, port in sorted(told["ports"].items())
        if "ACTIVE" not in (port["state"] or "")
    ]
    if down:
        todo = "see cable, switch and subnet manager: ibstat, iblinkinfo"
        return verdict("InfiniBand", name, FAIL, ", ".join(down), todo)
    rates = {port["rate"] for told in devices.values() for port in told["ports"].values()}
    return verdict("InfiniBand", name, PASS, ", ".join(sorted(str(rate) for rate in rates)))


def _in_container(name: str, node: Mapping[str, Any]) -> Row:
    """Judge what the container sees: without the devices NCCL falls back to sockets silently."""
    check, inside = "InfiniBand in the container", node.get("container_infiniband")
    outside = sorted(node["fingerprint"].get("infiniband") or {})
    if inside is None:
        return verdict(check, name, SKIP, "no container is used")
    missing = [device for device in outside if device not in inside]
    if missing:
        todo = "start it with --device /dev/infiniband and --cap-add IPC_LOCK: role framework"
        return verdict(check, name, FAIL, f"{', '.join(missing)} not visible", todo)
    if not outside:
        return verdict(check, name, SKIP, "the node has no RDMA device")
    return verdict(check, name, PASS, ", ".join(outside))
