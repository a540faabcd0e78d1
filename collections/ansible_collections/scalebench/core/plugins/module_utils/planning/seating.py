"""Seat a cell on nodes: which of them have the devices, and which GPUs each one takes."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

__all__ = ["assign_gpus", "can_seat", "device_ids", "machines_shared", "oversubscribed"]

Nodes = Mapping[str, Mapping[str, Any]]


def can_seat(names: Sequence[str], per_node: int, nodes: Nodes) -> bool:
    """Return whether each of the nodes has ``per_node`` devices of its own."""
    if any(nodes[name]["devices"] < per_node for name in names):
        return False
    if all(nodes[name]["device"] == "gpu" for name in names):
        return assign_gpus(names, per_node, nodes) is not None
    return True


def device_ids(name: str, node: Mapping[str, Any]) -> List[str]:
    """Return what tells each device of a node from all others, in the order of the node.

    A GPU is known by its uuid, also where several nodes are one machine; a CPU process by its node.
    """
    if node["device"] == "gpu":
        return [gpu["uuid"] for gpu in node["fingerprint"]["gpus"]]
    return [f"{name}/{place}" for place in range(node["devices"])]


def assign_gpus(
    names: Sequence[str], per_node: int, nodes: Nodes
) -> Optional[Dict[str, List[int]]]:
    """Return the indices of the GPUs that each node takes, None where there are too few.

    Nodes that are one machine see the same GPUs (known by uuid), and no two take the same.
    """
    taken: Set[str] = set()
    assigned: Dict[str, List[int]] = {}
    for name in names:
        free = [gpu for gpu in nodes[name]["fingerprint"]["gpus"] if gpu["uuid"] not in taken]
        if len(free) < per_node:
            return None
        assigned[name] = [gpu["index"] for gpu in free[:per_node]]
        taken.update(gpu["uuid"] for gpu in free[:per_node])
    return assigned


def oversubscribed(cell: Mapping[str, Any], nodes: Nodes) -> bool:
    """Return whether a machine runs more CPU threads for this cell than it has cores.

    Nodes under one kernel (``boot_id``) share a machine. On GPUs it is never so.
    """
    if cell["device"] == "gpu":
        return False
    wanted: Dict[str, int] = {}
    cores: Dict[str, int] = {}
    for name in cell["node_names"]:
        fingerprint = nodes[name]["fingerprint"]
        machine = fingerprint["boot_id"] or name
        wanted[machine] = wanted.get(machine, 0) + cell["devices_per_node"] * nodes[name]["threads"]
        cores[machine] = fingerprint["cores"]
    return any(wanted[machine] > cores[machine] for machine in wanted)


def machines_shared(seats: Sequence[Sequence[str]], nodes: Nodes) -> bool:
    """Return whether two of the seats, lists of node names, have nodes on one machine."""
    seen: Set[str] = set()
    for names in seats:
        machines = {nodes[name]["fingerprint"]["boot_id"] or name for name in names}
        if machines & seen:
            return True
        seen |= machines
    return False
