"""Checks of hosts, ssh among the nodes, InfiniBand, containers and the data set."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from .verdict import FAIL, PASS, SKIP, WARN, Nodes, Row, agreement, verdict

__all__ = ["data_checks", "fabric_checks", "host_checks"]

# Seconds between the clocks of node and controller. Telemetry is sampled every 2 s.
_SKEW_WARN, _SKEW_FAIL = 0.5, 5.0
# Digits of a digest that are shown, as many as git shows.
_SHOWN = 12


def host_checks(nodes: Nodes, expected: Mapping[str, Any]) -> List[Row]:
    """Return the rows about hosts.

    :param expected: optional ``free_mib``, the free disk space that a node needs, in MiB.
    """
    todo = "measure nodes with {wanted} apart from others, or make them the same"
    rows = agreement("system", nodes, lambda node: node["fingerprint"].get("os"), WARN, todo)
    rows += agreement("kernel", nodes, lambda node: node["fingerprint"].get("kernel"), WARN, todo)
    for name, node in nodes.items():
        rows += [_memlock(name, node), _room(name, node, expected), _clock(name, node)]
        rows.append(_reaches(name, node))
    return rows


def _memlock(name: str, node: Mapping[str, Any]) -> Row:
    """Judge the limit of locked memory in a session: RDMA locks all its buffers."""
    limit = node["memlock_kib"]
    if limit == -1:
        return verdict("memlock", name, PASS, "unlimited")
    found = f"{limit} KiB"
    if not node["fingerprint"].get("infiniband"):
        return verdict("memlock", name, SKIP, f"{found}; the node has no RDMA device")
    todo = "raise it to unlimited, with role host_baseline, and log in again"
    return verdict("memlock", name, FAIL, found, todo)


def _room(name: str, node: Mapping[str, Any], expected: Mapping[str, Any]) -> Row:
    free, needed = node["fingerprint"]["disk_free_mib"], expected.get("free_mib", 0)
    if free < needed:
        todo = f"free {needed} MiB on the disk of scalebench_work_dir"
        return verdict("disk", name, FAIL, f"{free} MiB free", todo)
    return verdict("disk", name, PASS, f"{free} MiB free")


def _clock(name: str, node: Mapping[str, Any]) -> Row:
    """Judge the smallest clock difference that the round trip of the request allows."""
    low, high = node["clock_skew"]
    least = max(low, -high, 0.0)
    found = f"{least:.2f} s off at least" if least > _SKEW_WARN else "as the controller's"
    if least <= _SKEW_WARN:
        return verdict("clock", name, PASS, found)
    word = FAIL if least > _SKEW_FAIL else WARN
    return verdict("clock", name, word, found, "synchronise it with chrony: role host_baseline")


def _reaches(name: str, node: Mapping[str, Any]) -> Row:
    peers = node.get("peers")
    if peers is None:
        return verdict("ssh to all nodes", name, SKIP, "not asked for")
    lost = {peer: why for peer, why in peers.items() if why}
    if not lost:
        return verdict("ssh to all nodes", name, PASS, f"{len(peers)} of {len(peers)}")
    found = "; ".join(f"{peer}: {why}" for peer, why in sorted(lost.items()))
    return verdict("ssh to all nodes", name, FAIL, found, "run playbooks/provision.yml again")


def fabric_checks(nodes: Nodes, expected: Mapping[str, Any]) -> List[Row]:
    """Return the rows about InfiniBand and containers.

    :param expected: optional ``infiniband_ports``, the number of active ports of a node.
    """
    install = "install {wanted} on this node as on the others: role mlnx_ofed"
    rows = agreement("OFED", nodes, lambda node: node["fingerprint"].get("ofed"), FAIL, install)
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
    """Judge the ports: NCCL does without those that are down, without a message."""
    devices = node["fingerprint"].get("infiniband") or {}
    if not devices:
        return verdict("InfiniBand", name, SKIP, "the node has no RDMA device")
    down = [
        f"{device}/{number} {port['state']}"
        for device, facts in sorted(devices.items())
        for number, port in sorted(facts["ports"].items())
        if "ACTIVE" not in (port["state"] or "")
    ]
    if down:
        todo = "see cable, switch and subnet manager: ibstat, iblinkinfo"
        return verdict("InfiniBand", name, FAIL, ", ".join(down), todo)
    rates = {port["rate"] for facts in devices.values() for port in facts["ports"].values()}
    return verdict("InfiniBand", name, PASS, ", ".join(sorted(str(rate) for rate in rates)))


def _in_container(name: str, node: Mapping[str, Any]) -> Row:
    """Judge the devices visible in the container: without them NCCL silently uses sockets."""
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


def data_checks(nodes: Nodes) -> List[Row]:
    """Return the rows about the data set, of nodes with a ``dataset`` of module dataset_info.

    An incomplete data set is a warning, because a part of ImageNet may be intended; a difference
    between nodes is a failure.
    """
    again = "copy it again, so that all nodes have {wanted}: docs/data.md"
    rows = agreement("dataset", nodes, _digests, FAIL, again)
    for name, node in nodes.items():
        problems = [
            f"{form}: {problem}"
            for form, state in (node.get("dataset") or {}).items()
            for problem in state["problems"]
        ]
        if problems:
            todo = "copy what is missing, or continue if a part is intended: docs/data.md"
            rows.append(verdict("dataset files", name, WARN, "; ".join(problems), todo))
    return rows


def _digests(node: Mapping[str, Any]) -> Optional[str]:
    digests = [
        f"{form} {state['digest'][:_SHOWN]}"
        for form, state in (node.get("dataset") or {}).items()
        if state["digest"]
    ]
    return ", ".join(digests) or None
