"""What plan.json holds: the cells of a campaign and its nodes; and the repeats planned from it."""

from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, TypedDict, cast

from ..topology import parse_topology
from .cells import IDENTITY_KEYS
from .factors import Factors

__all__ = [
    "MOST_REPEATS",
    "Cell",
    "Command",
    "Node",
    "Nodes",
    "Plan",
    "PlannedRepeat",
    "Reading",
    "check_cell",
    "check_kinds",
    "check_plan",
]

# Repeats of a cell.
MOST_REPEATS = 10_000
_NEEDED = (*IDENTITY_KEYS, "batch_size_per_device", "nodes", "devices_per_node")
_MAPPINGS = "a mapping of mappings"
_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "a mapping": lambda value: isinstance(value, Mapping),
    _MAPPINGS: lambda value: isinstance(value, Mapping) and _all(value.values(), Mapping),
    "a list": lambda value: isinstance(value, list),
    "a list of mappings": lambda value: isinstance(value, list) and _all(value, Mapping),
    "a list of texts": lambda value: isinstance(value, list) and _all(value, str),
    "a text": lambda value: isinstance(value, str),
    "a number": lambda value: (
        isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    ),
    "a whole number": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "true or false": lambda value: isinstance(value, bool),
}
_PLAN = {"options": "a mapping", "nodes": _MAPPINGS, "cells": "a list"}
# What bench.yml reads of the cells when it continues a campaign, and a report does not.
_TO_CONTINUE = {
    **{"node_names": "a list of texts", "repeats": "a whole number", "commands": _MAPPINGS},
    "oversubscribed": "true or false",
}
_COMMAND = {"argv": "a list", "env": "a mapping"}


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
    many there are. ``unusable`` has by package set why its interpreter cannot be used,
    ``python_given`` says that -e framework_python names it, ``architectures`` are those of the GPUs
    on the PCI bus. ``rdma_adapters`` (a list, or a text with commas) are those that NCCL may use,
    ``transport`` is what it must take between nodes; both may be empty.
    """

    unusable: Dict[str, str]
    python_given: bool
    architectures: List[str]
    rdma_adapters: Any
    transport: str


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
    repair that. ``transport`` is there where NCCL must take it between the nodes. ``node_devices``
    are the places of its devices on nodes that it shares.
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
    transport: str
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
    # A report has a row for each, recorded or not: a planted number must not fill the memory.
    repeats = cell.get("repeats")
    if isinstance(repeats, (int, float)) and not 0 <= repeats <= MOST_REPEATS:
        raise ValueError(f"repeats is {repr(repeats)[:80]}, not a number up to {MOST_REPEATS}")


def check_kinds(
    values: Mapping[str, Any], kinds: Mapping[str, str], where: str, optional: bool = False
) -> None:
    """Refuse a mapping that lacks a key, or whose value is of another kind.

    :param kinds: by key, one of :data:`_KINDS`.
    :param where: what the message calls the mapping.
    :param optional: a key may be missing or None.
    :raises ValueError: the keys that are missing, or the first value of another kind.
    """
    missing = [key for key in kinds if key not in values]
    if missing and not optional:
        raise ValueError(f"{where} has no {', '.join(missing)}")
    for key, kind in kinds.items():
        value = values.get(key)
        if not (_KINDS[kind](value) or (optional and value is None)):
            raise ValueError(f"{where} is damaged: {key} is {repr(value)[:80]}, not {kind}")


def _all(values: Iterable[Any], kind: type) -> bool:
    return all(isinstance(value, kind) for value in values)


def check_plan(data: Any, to_continue: bool = True) -> Plan:
    """Return the plan that a file holds.

    :param to_continue: also check what bench.yml needs to continue the campaign.
    :raises ValueError: it is damaged; what is missing.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"a plan is a mapping, not {data!r}")
    check_kinds(data, _PLAN, "the plan")
    for cell in data["cells"]:
        check_cell(cell)
        if to_continue:
            _check_continued(cell)
    return cast(Plan, dict(data))


def _check_continued(cell: Mapping[str, Any]) -> None:
    if not (cell.get("directory") and cell.get("name")):
        raise ValueError(f"the plan does not say where the logs of {cell['variant']} lie")
    where = f"cell {cell['directory']}/{cell['name']}"
    check_kinds(cell, _TO_CONTINUE, where)
    for node, command in cell["commands"].items():
        check_kinds(command, _COMMAND, f"{where}: the command of {node}")
