"""Seat a cell on nodes: nodes that have enough devices, and the GPUs that it takes of each."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Union

from ..records.node_names import cores_of_machine
from ..records.plans import Cell, Node, Nodes

__all__ = [
    "assign_gpus",
    "can_seat",
    "chosen_gpus",
    "data_workers",
    "device_ids",
    "machines_shared",
    "models_of",
    "oversubscribed",
]

# A machine, and the cgroup whose CPU quota a node on it has.
_Share = Tuple[str, Optional[int]]

_NO, _YES = (
    ("false", "no", "off", "0", "n", "f", "none"),
    ("true", "yes", "on", "1", "y", "t", "all"),
)


GPU_CHOICES = (
    "give true, false, or the numbers of different GPUs as nvidia-smi shows them, such as [0, 2]"
)


def chosen_gpus(choice: Union[bool, int, str, Sequence[Union[int, str]]]) -> str:
    """Return which GPUs of a node may be used: ``all``, ``none``, or numbers such as ``0,2``.

    :param choice: ``scalebench_gpus`` of the inventory: a boolean, or the numbers that nvidia-smi
        shows as a list, or as text with commas; ``0`` and ``1`` alone are booleans of Ansible.
    :raises ValueError: something else.
    """
    words = choice.split(",") if isinstance(choice, str) and "," in choice else choice
    if isinstance(words, (bool, int, str)):
        word = str(words).strip().lower()
        if word in (*_NO, *_YES):
            return "none" if word in _NO else "all"
        words = [""]
    numbers = [str(number).strip() for number in words]
    if not all(number.isdecimal() for number in numbers) or len(set(numbers)) < len(numbers):
        raise ValueError(f"scalebench_gpus: {choice}: {GPU_CHOICES}")
    return ",".join(numbers) or "none"


def can_seat(names: Sequence[str], per_node: int, nodes: Nodes) -> bool:
    """Return whether each of the nodes has ``per_node`` devices of its own."""
    if any(nodes[name]["devices"] < per_node for name in names):
        return False
    if all(nodes[name]["device"] == "gpu" for name in names):
        return assign_gpus(names, per_node, nodes) is not None
    return True


def device_ids(name: str, node: Node) -> List[str]:
    """Return a unique id for each device of a node, in the order of the node.

    That is the uuid of a GPU, also where several nodes are one machine, and node and number of a
    CPU process.
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


def models_of(cell: Cell, nodes: Nodes) -> Dict[str, List[str]]:
    """Return the nodes of a cell on GPUs by the model of the GPUs that it takes."""
    found: Dict[str, List[str]] = {}
    names = cell["node_names"]
    assigned = assign_gpus(names, cell["devices_per_node"], nodes) or {}
    for name in names if cell["device"] == "gpu" else ():
        taken = [
            gpu for gpu in nodes[name]["fingerprint"]["gpus"] if gpu["index"] in assigned[name]
        ]
        for model in {gpu.get("name", ""): None for gpu in taken}:
            found.setdefault(model, []).append(name)
    return found


def oversubscribed(cell: Cell, nodes: Nodes) -> bool:
    """Return whether a machine, or a CPU quota, gives this cell fewer cores than CPU threads.

    Nodes under one kernel (``boot_id``) share a machine. Cells on GPUs never oversubscribe.
    """
    if cell["device"] == "gpu":
        return False
    wanted: Dict[_Share, int] = {}
    together: Dict[_Share, List[Mapping[str, Any]]] = {}
    for name in cell["node_names"]:
        machine, cgroup = _share(name, nodes)
        for share in {(machine, cgroup), (machine, None)}:
            threads = cell["devices_per_node"] * nodes[name]["threads"]
            wanted[share] = wanted.get(share, 0) + threads
            together.setdefault(share, []).append(nodes[name]["fingerprint"])
    return any(wanted[share] > (cores_of_machine(together[share]) or 0) for share in wanted)


def _share(name: str, nodes: Nodes) -> _Share:
    fingerprint = nodes[name]["fingerprint"]
    quota = fingerprint.get("cpu_quota") or {}
    return fingerprint.get("boot_id") or name, quota.get("cgroup")


def data_workers(cell: Cell, nodes: Nodes) -> Dict[str, int]:
    """Return how many processes of each rank may read and decode data on the cell's nodes.

    It is a rank's share of the cores: all devices of a node share its cores, as other repeats may
    run on those that the cell leaves, and so do nodes under one kernel. Containers with a CPU quota
    each have their own.
    """
    shares = {name: _share(name, nodes) for name in cell["node_names"]}
    sharing: Dict[_Share, int] = {}
    for name, share in shares.items():
        sharing[share] = sharing.get(share, 0) + nodes[name]["devices"]
    return {
        name: max(1, int(nodes[name]["fingerprint"].get("cores", 1)) // sharing[share])
        for name, share in shares.items()
    }


def machines_shared(seats: Sequence[Sequence[str]], nodes: Nodes) -> bool:
    """Return whether two of the seats, lists of node names, have nodes on one machine."""
    seen: Set[str] = set()
    for names in seats:
        machines = {nodes[name]["fingerprint"]["boot_id"] or name for name in names}
        if machines & seen:
            return True
        seen |= machines
    return False
