"""What plan.json holds: the cells of a campaign and its nodes; and the repeats planned from it."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, TypedDict, cast

from ..topology import parse_topology
from .cells import IDENTITY_KEYS
from .factors import Factors

__all__ = [
    "Cell",
    "Command",
    "Node",
    "Nodes",
    "Plan",
    "PlannedRepeat",
    "Reading",
    "check_cell",
    "check_plan",
]

_NEEDED = (*IDENTITY_KEYS, "batch_size_per_device", "nodes", "devices_per_node")


class _Node(TypedDict):
    address: str
    interface: str
    rank_port: int
    ssh_config: str
    threads: int
    workload_dir: str
    sources_dir: str
    container_engine: str
    data_dir: str
    pythons: Dict[str, str]
    device: str
    devices: int
    fingerprint: Dict[str, Any]


class Node(_Node, total=False):
    """What planning knows of a node.

    ``interface`` (a name or a network) and ``data_dir`` may be empty. ``threads`` are CPU threads
    of a rank, ``pythons`` interpreters by package set, ``device`` is cpu or gpu, ``devices`` how
    many there are. ``unusable`` has by package set why its interpreter cannot be used.
    """

    unusable: Dict[str, str]


# By name, in seating order.
Nodes = Mapping[str, Node]


class Command(TypedDict):
    """What one node of a cell runs; rank 0 is the leading node."""

    rank: int
    argv: List[str]
    env: Dict[str, str]


class Reading(TypedDict):
    """How the logs of a cell are read: arguments of module training_log_facts."""

    reader: str
    strategy: str
    parameters: Dict[str, Any]


class _Cell(Factors):
    benchmark: str
    recipe: str
    framework: str
    model: str
    topology: str
    nodes: int
    devices_per_node: int
    device: str
    node_names: List[str]
    warmup: int
    iterations: Optional[int]
    repeats: int
    framework_set: Optional[str]
    variant: str
    directory: str
    name: str


class Cell(_Cell, total=False):
    """A planned cell: its factors, topology, method, and where its logs lie.

    ``batch_size_per_device`` is ``factors.MAX`` while the largest is searched, from
    ``search_from``; ``searched`` marks a cell that a search gave its size. ``own_factors`` and
    ``unit`` (of the throughput) are there where the benchmark declares them, ``epochs`` and
    ``target_accuracy`` of a training to a target. The plan adds what follows ``searched``; a cell
    that cannot run has ``unavailable``, the reason, and ``excused`` where provisioning cannot
    repair that. ``node_devices`` are the places of its devices on nodes that it shares.
    """

    own_factors: Dict[str, Any]
    unit: str
    epochs: int
    target_accuracy: Optional[float]
    search_from: int
    searched: bool
    reading: Reading
    not_there: List[str]
    over_ssh: bool
    commands: Dict[str, Command]
    oversubscribed: bool
    estimate_seconds: Optional[float]
    unavailable: str
    excused: bool
    node_devices: Dict[str, List[int]]


class _PlannedRepeat(TypedDict):
    cell: Cell
    repeat: int
    name: str
    log: str
    logs: Dict[str, str]
    expect: Dict[str, Any]


class PlannedRepeat(_PlannedRepeat, total=False):
    """A repeat to run: its leading node's ``log`` is the measurement, ``logs`` are all nodes'.

    ``expect`` is what the log must not contradict. ``kind`` is measured, search or alone; ``why``
    it runs again; ``seconds`` is the expected time. A repeat that is given up has ``ending`` and
    ``reason``. A wave adds what follows.
    """

    kind: str
    why: str
    attempt: int
    seconds: float
    ending: str
    reason: str
    packed_with: List[str]
    shares_machine: bool
    machines: Dict[str, Dict[str, Any]]


class _Plan(TypedDict):
    schema: int
    options: Dict[str, Any]
    cells: List[Cell]
    nodes: Dict[str, Dict[str, Any]]


class Plan(_Plan, total=False):
    """The plan of a campaign; ``nodes`` are fingerprints by name. Its file adds the other keys."""

    campaign: str
    created: str
    controller: Dict[str, Any]
    sha256: str


def check_cell(cell: Any) -> None:
    """Refuse a damaged cell, planned, recorded or measured.

    :raises ValueError: it is not a mapping, a key that a report needs is missing or empty, or the
        topology contradicts the counts.
    """
    if not isinstance(cell, Mapping):
        raise ValueError(f"a cell is a mapping, not {cell!r}")
    missing = [key for key in _NEEDED if not cell.get(key)]
    if missing:
        raise ValueError(f"the cell has no {', '.join(missing)}")
    if parse_topology(cell["topology"]) != (cell["nodes"], cell["devices_per_node"]):
        raise ValueError(f"topology {cell['topology']} does not fit nodes and devices_per_node")


def check_plan(data: Any) -> Plan:
    """Return the plan that a file holds.

    :raises ValueError: it is damaged; what is missing.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"a plan is a mapping, not {data!r}")
    for key, kind in (("options", Mapping), ("nodes", Mapping), ("cells", list)):
        if not isinstance(data.get(key), kind):
            raise ValueError(f"the plan has no {key}")
    for cell in data["cells"]:
        check_cell(cell)
        if not (cell.get("directory") and cell.get("name")):
            raise ValueError(f"the plan does not say where the logs of {cell['variant']} lie")
    return cast(Plan, dict(data))
