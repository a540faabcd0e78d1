"""What plan.json holds: the cells of a campaign and its nodes; and the repeats planned from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, TypedDict, cast

from ..topology import parse_topology
from .cells import IDENTITY_KEYS, cell_key
from .factors import MAX, BatchSize, Factors  # noqa: F401 (BatchSize: Python 3.8)
from .shape import MEASURED, Scalar, check_plain, check_shape

__all__ = [
    "LARGEST_BATCH",
    "MOST_REPEATS",
    "NEEDED",
    "Cell",
    "Command",
    "Continued",
    "Fingerprint",
    "ModelData",
    "Node",
    "Nodes",
    "Options",
    "Plan",
    "PlannedRepeat",
    "Reading",
    "Settings",
    "Variant",
    "VariantsGiven",
    "check_cell",
    "check_plan",
    "check_size",
]

# Repeats of a cell, and of all cells. A report has a row for each, recorded or not: a planted
# number must not fill the memory.
MOST_REPEATS = 10_000
MOST_PLANNED = 50_000
MOST_CELLS = 10_000
# What every cell has that was ever planned, recorded or measured.
NEEDED = (*IDENTITY_KEYS, "batch_size_per_device", "nodes", "devices_per_node")
# What bench.yml reads of a cell when it continues a campaign, and a report does not.
_TO_CONTINUE = ("directory", "name", "node_names", "repeats", "commands", "oversubscribed")
# The largest batch size per device that is searched.
LARGEST_BATCH = 65536
# What the search for its batch size reads of a cell.
_TO_SEARCH = ("node_names", "search_from", "warmup", "iterations", "reading")


class _Settings(TypedDict):
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


class Settings(_Settings, total=False):
    """What a plan keeps of a node beside its fingerprint, for runs without the node.

    ``slurm`` is there on nodes of a job: ``host``, Slurm's name of the node, and of srun its
    ``path``, the process manager of MPI systems (``mpi``) and whether it starts ``containers``.
    """

    images_dir: str
    python_given: bool
    architectures: List[str]
    rdma_adapters: Any
    transport: str
    slurm: Dict[str, Any]


class _Node(Settings):
    fingerprint: Dict[str, Any]


class Node(_Node, total=False):
    """What planning knows of a node.

    ``interface`` (a name or a network) and ``data_dir`` may be empty; ``images_dir`` is the folder
    of its images, unknown in plans of version 0.2. ``threads`` are CPU threads
    of a rank, ``pythons`` interpreters by package set, ``device`` is cpu or gpu, ``devices`` how
    many there are. ``unusable`` has by package set why its interpreter cannot be used,
    ``python_given`` says that -e framework_python names it, ``architectures`` are those of the GPUs
    on the PCI bus. ``rdma_adapters`` (a list, or a text with commas) are those that NCCL may use,
    ``transport`` is what it must take between nodes; both may be empty. ``lost`` says since when
    the node does not answer, and with which error. ``workload`` are the digests of its trainers.
    """

    lost: str
    workload: Dict[str, str]
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
    parameters: Dict[str, Optional[Scalar]]


class Stated(TypedDict, total=False):
    """A ``figure``, or the name of a ``formula`` of ``models.flops``, and its source."""

    figure: float
    formula: str
    source: str


class ModelData(TypedDict, total=False):
    """What a benchmark states of its model: FLOPs of one unit of the throughput, in training.

    ``samples`` is what a batch counts; ``gradient_bytes`` are exchanged in each step, and else
    the bytes of ``parameters``.
    """

    name: str
    samples: str
    flops_per_unit: Stated
    gradient_bytes: Stated
    parameters: Stated


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
    ``search_from``; ``searched`` marks a cell that a search gave its size. ``own_factors``,
    ``unit`` (of the throughput), ``units_per_sample``, ``no_speedup`` (why) and ``model_data``
    (the benchmark's ``model`` where it is a mapping) are there where the benchmark declares them,
    ``epochs`` and ``target_accuracy`` of a training to a target, ``loss_scaling`` where the recipe
    states it. The plan adds what follows
    ``searched``; a cell that cannot run has ``unavailable``, the reason, and ``excused`` where
    provisioning cannot repair that. ``transport`` is there where NCCL must take it
    between the nodes, ``image`` where a variant has one of its own. ``node_devices`` are the places
    of its devices on nodes that it shares.
    """

    own_factors: Dict[str, Scalar]
    unit: str
    units_per_sample: int
    no_speedup: str
    model_data: ModelData
    epochs: int
    target_accuracy: Optional[float]
    search_from: int
    searched: bool
    reading: Reading
    loss_scaling: str
    not_there: List[str]
    over_ssh: bool
    commands: Dict[str, Command]
    oversubscribed: bool
    estimate_seconds: Optional[float]
    unavailable: str
    excused: bool
    transport: str
    image: str
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


class _Gpu(TypedDict):
    name: str


class Gpu(_Gpu, total=False):
    """A GPU of a node; ``driver`` is the driver's version."""

    driver: str


class Framework(TypedDict, total=False):
    """An environment of a framework: the versions of its packages."""

    packages: Dict[str, str]


class InfinibandDevice(TypedDict, total=False):
    """Adapter of a node: rate and state of each of its ports, by number."""

    ports: Dict[str, Dict[str, Any]]


class CpuQuota(TypedDict):
    """The cgroup whose quota leaves a node fewer cores than its affinity, and the cores of that."""

    cgroup: int
    allowed: int


class Fingerprint(TypedDict, total=False):
    """What a plan keeps of a node and a report shows; ``evidence.fingerprint`` has all of it."""

    hostname: str
    machine_id: str
    boot_id: str
    load: float
    memory_mib: float
    cpu_quota: Optional[CpuQuota]
    gpus: List[Gpu]
    interfaces: Dict[str, Dict[str, Any]]
    infiniband: Dict[str, InfinibandDevice]
    frameworks: Dict[str, Optional[Framework]]


class Variant(TypedDict, total=False):
    """What a variant changes of the command, and ``about``, the user's label of it."""

    about: str
    environment: Dict[str, str]
    arguments: List[str]
    image: str


class Options(TypedDict, total=False):
    """Those options of a campaign that its results are judged by; the others only made the plan."""

    half_width: float
    max_repeats: int
    duration: str
    packing: str
    bisect: bool
    repeats: int


# The code that makes a plan passes them on without looking into them.
if TYPE_CHECKING:
    OptionsGiven = Dict[str, Any]
    NodesFound = Dict[str, Dict[str, Any]]
    VariantsGiven = Dict[str, Any]
else:
    OptionsGiven = Options
    NodesFound = Dict[str, Fingerprint]
    VariantsGiven = Dict[str, Dict[str, Variant]]


class Continued(TypedDict):
    """Changes of software, in words, after which a campaign went on; ``at`` as ``created``."""

    at: str
    changes: List[str]


class _Plan(TypedDict):
    schema: int
    options: OptionsGiven
    cells: List[Cell]
    nodes: NodesFound


class Plan(_Plan, total=False):
    """The plan of a campaign; ``nodes`` are fingerprints by name. Its file adds other keys.

    ``variants``, by benchmark, and the ``seed`` of their order are there where it compares some.
    ``workload`` are the digests of the trainers by file, ``continued`` are the ``changes`` of
    software, in words, after which the campaign went on, and when (``at``). ``settings``, by node
    in seating order, are what its commands were made of. ``carrier`` is what reached the nodes, ssh
    or another. ``hosts``, by node, are there where a host has the name of another, and
    ``other_trainers``, by path, where those on the nodes were not the checkout's.
    """

    carrier: str
    hosts: Dict[str, str]
    campaign: str
    created: str
    controller: Dict[str, Any]
    sha256: str
    seed: str
    variants: VariantsGiven
    workload: Dict[str, str]
    continued: List[Continued]
    settings: Dict[str, Settings]
    other_trainers: List[str]


def check_cell(cell: Mapping[str, Any]) -> None:
    """Refuse a damaged cell, planned, recorded or measured.

    :param cell: of the shape of :class:`Cell`.
    :raises ValueError: a key that a report needs is empty, the topology contradicts the counts, or
        what is stated of the model or of a sample has no figure.
    """
    empty = [key for key in NEEDED if not cell.get(key)]
    if empty:
        raise ValueError(f"the cell has no {', '.join(empty)}")
    batch = cell["batch_size_per_device"]
    if batch != MAX and (isinstance(batch, str) or batch < 1):
        raise ValueError(f"batch_size_per_device is {batch!r:.80}, not a number above 0, or {MAX}")
    if parse_topology(cell["topology"]) != (cell["nodes"], cell["devices_per_node"]):
        raise ValueError(f"topology {cell['topology']} does not fit nodes and devices_per_node")
    model = cell.get("model_data") or {}
    if not isinstance(model, dict):
        raise ValueError("model_data is no mapping")
    for key, stated in model.items():
        if not isinstance(stated, str) and not _is_stated(stated):
            raise ValueError(
                f"model_data.{key} is {stated!r:.200}: no figure above 0 with a source"
            )
    place = f"{cell.get('directory', '')}/{cell.get('name', '')}"
    if ".." in place.split("/"):
        raise ValueError(f"{place!r:.200} leads out of the campaign's folder")
    units = cell.get("units_per_sample", 1)
    if units < 1:
        raise ValueError(f"{cell_key(cell).short:.200}: units_per_sample is {units}, not above 0")
    repeats = cell.get("repeats")
    if isinstance(repeats, int) and not 0 <= repeats <= MOST_REPEATS:
        raise ValueError(f"repeats is {repeats}, not a number up to {MOST_REPEATS}")


def _is_stated(stated: Any) -> bool:
    if not isinstance(stated, dict) or not isinstance(stated.get("source"), str):
        return False
    figure = stated.get("figure")
    return (
        "formula" in stated if figure is None else isinstance(figure, (int, float)) and figure > 0
    )


def check_size(cells: Sequence[Mapping[str, Any]]) -> None:
    """Refuse more cells and repeats than a report can show.

    :raises ValueError: how many there are.
    """
    if len(cells) > MOST_CELLS:
        raise ValueError(f"{len(cells)} cells, more than {MOST_CELLS}")
    planned = sum(cell.get("repeats") or 0 for cell in cells)
    if planned > MOST_PLANNED:
        raise ValueError(
            f"{len(cells)} cells have {planned} repeats together, more than {MOST_PLANNED}"
        )


def check_plan(data: Any, to_continue: bool = True) -> Plan:
    """Return the plan that a file holds.

    :param to_continue: also check what bench.yml needs to continue the campaign.
    :raises ValueError: it is damaged; what is missing.
    """
    of_cell = (*NEEDED, *_TO_CONTINUE) if to_continue else NEEDED
    needed = {Plan: ("options", "nodes", "cells"), Cell: of_cell}
    check_shape(data, Plan, "plan", needed)
    check_plain(data, largest=MEASURED)
    for cell in data["cells"]:
        check_cell(cell)
        if cell["batch_size_per_device"] == MAX:
            missing = [key for key in _TO_SEARCH if not cell.get(key)]
            if missing or not 1 <= cell["search_from"] <= LARGEST_BATCH:
                lacks = ", ".join(missing) or f"start of 1 to {LARGEST_BATCH}"
                raise ValueError(f"a cell whose batch size is searched has no {lacks}")
    check_size(data["cells"])
    return cast(Plan, dict(data))
