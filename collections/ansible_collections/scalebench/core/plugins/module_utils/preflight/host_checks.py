"""Checks of the hosts: system, limits, room, clocks, ssh among the nodes."""

from __future__ import annotations

from typing import Any, List, Mapping

from .verdict import FAIL, PASS, SKIP, WARN, Nodes, Row, agreement, verdict

__all__ = ["host_checks"]

# Seconds between the clocks of node and controller; telemetry is sampled every 2 s.
_SKEW_WARN, _SKEW_FAIL = 0.5, 5.0


def host_checks(nodes: Nodes, expected: Mapping[str, Any]) -> List[Row]:
    """Return the rows about hosts.

    :param expected: ``free_mib``, the room that a node must have in MiB.
    """
    todo = "measure nodes with {wanted} apart from others, or make them the same"
    rows = agreement("system", nodes, lambda node: node["fingerprint"].get("os"), WARN, todo)
    rows += agreement("kernel", nodes, lambda node: node["fingerprint"].get("kernel"), WARN, todo)
    for name, node in nodes.items():
        rows += [_memlock(name, node), _room(name, node, expected), _clock(name, node)]
        rows.append(_reaches(name, node))
    return rows


def _memlock(name: str, node: Mapping[str, Any]) -> Row:
    """Judge the limit that a session on the node has; RDMA pins all its buffers."""
    limit = node["memlock_kib"]
    if limit == -1:
        return verdict("memlock", name, PASS, "unlimited")
    found = f"{limit} KiB"
    if not node["fingerprint"].get("infiniband"):
        return verdict("memlock", name, SKIP, f"{found}; the node has no RDMA device")
    todo = "raise it to unlimited, with role host_baseline, and log in anew"
    return verdict("memlock", name, FAIL, found, todo)


def _room(name: str, node: Mapping[str, Any], expected: Mapping[str, Any]) -> Row:
    free, needed = node["fingerprint"]["disk_free_mib"], expected.get("free_mib", 0)
    if free < needed:
        todo = f"make room for {needed} MiB where scalebench_work_dir lies"
        return verdict("disk", name, FAIL, f"{free} MiB free", todo)
    return verdict("disk", name, PASS, f"{free} MiB free")


def _clock(name: str, node: Mapping[str, Any]) -> Row:
    """Judge by the smallest difference that the answer's way to and fro leaves possible."""
    low, high = node["clock_skew"]
    least = max(low, -high, 0.0)
    found = f"{least:.2f} s off at least" if least > _SKEW_WARN else "as the controller's"
    if least <= _SKEW_WARN:
        return verdict("clock", name, PASS, found)
    word = FAIL if least > _SKEW_FAIL else WARN
    return verdict("clock", name, word, found, "keep it with chrony: role host_baseline")


def _reaches(name: str, node: Mapping[str, Any]) -> Row:
    peers = node.get("peers")
    if peers is None:
        return verdict("ssh to all nodes", name, SKIP, "not asked for")
    lost = {peer: why for peer, why in peers.items() if why}
    if not lost:
        return verdict("ssh to all nodes", name, PASS, f"{len(peers)} of {len(peers)}")
    found = "; ".join(f"{peer}: {why}" for peer, why in sorted(lost.items()))
    return verdict("ssh to all nodes", name, FAIL, found, "run playbooks/provision.yml again")
