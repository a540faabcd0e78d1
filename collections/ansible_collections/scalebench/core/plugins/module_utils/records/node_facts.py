"""What a node says of itself before a campaign: the types that the preflight relies on."""

from __future__ import annotations

import ipaddress
from typing import Any, Dict, List, Mapping, Optional, TypedDict, cast, get_type_hints

from .shape import check_plain, check_shape

__all__ = [
    "CudaState",
    "FrameworkState",
    "Gpu",
    "GpuHealth",
    "NodeFacts",
    "Route",
    "check_node_facts",
]


class Gpu(TypedDict):
    """One GPU of a fingerprint."""

    index: int
    name: str
    driver: str


class _GpuSettings(TypedDict):
    index: int


class GpuSettings(_GpuSettings, total=False):
    """The settings of a GPU; all are shown, whatever they are."""

    persistence_mode: Optional[str]


class _GpuHealth(TypedDict):
    index: int
    ecc_uncorrected: Optional[int]
    repair_pending: Optional[bool]


class GpuHealth(_GpuHealth, total=False):
    """The health of a GPU (``node.fitness.gpu_health``); None for what it does not report."""

    repair_failed: Optional[bool]
    mig: Optional[str]
    fabric: Optional[str]


class CudaState(TypedDict):
    """How a program finds CUDA (``node.drivers.cuda_state``)."""

    code: Optional[int]
    devices: Optional[int]
    error: str


class _Port(TypedDict):
    rate: Optional[str]
    state: Optional[str]


class Port(_Port, total=False):
    """A port of an RDMA device, in the words of sysfs."""

    link_layer: Optional[str]


class RdmaDevice(TypedDict):
    """An RDMA device, with its ports by number."""

    ports: Dict[str, Port]


class Route(TypedDict):
    """A route of IPv4; ``network`` as 10.11.0.0/16."""

    interface: str
    network: str
    metric: int


class Form(TypedDict):
    """A form of the data set (module dataset_info); ``digest`` is empty where it is absent."""

    problems: List[str]
    digest: Optional[str]


class _NodeFingerprint(TypedDict):
    disk_free_mib: int


class NodeFingerprint(_NodeFingerprint, total=False):
    """What the preflight reads of ``evidence.fingerprint`` and of the node's devices."""

    os: Optional[str]
    kernel: Optional[str]
    cpu_bfloat16: Optional[bool]
    ofed: Optional[str]
    cuda_driver: Optional[str]
    nccl: Optional[str]
    gpus: List[Gpu]
    gpu_settings: List[GpuSettings]
    interfaces: Dict[str, Any]
    infiniband: Dict[str, RdmaDevice]


class _NodeFacts(TypedDict):
    fingerprint: NodeFingerprint
    memlock_kib: int
    clock_skew: List[float]


class NodeFacts(_NodeFacts, total=False):
    """The facts of module preflight_facts, with the fingerprint and the forms of the data set.

    ``expected``, ``interface`` and ``transport`` are the inventory's words, and no facts.
    """

    expected: Dict[str, Any]
    interface: Any
    transport: Any
    writable: bool
    addresses: Dict[str, str]
    routes: List[Route]
    gpu_health: List[GpuHealth]
    cuda: Optional[CudaState]
    gpu_direct: str
    gpus_silent: List[str]
    gpus_chosen: bool
    gpu_remarks: str
    gpu_processes: List[str]
    xid: Optional[List[int]]
    peers: Optional[Dict[str, str]]
    authorized_keys: Optional[str]
    image: Optional[str]
    container_infiniband: Optional[List[str]]
    container_verbs: bool
    clock: float
    dataset: Optional[Dict[str, Form]]


class FrameworkDevice(TypedDict):
    """A GPU as a framework sees it; ``error`` is that of a kernel, empty where it ran."""

    name: str
    capability: str
    error: str


class FrameworkState(TypedDict):
    """What a framework says of the GPUs: ``roles/framework/files/gpu_state_*.py``."""

    version: str
    built_for: Optional[str]
    architectures: List[str]
    error: str
    devices: List[FrameworkDevice]


def check_node_facts(facts: Mapping[str, Any]) -> NodeFacts:
    """Return the facts of a node, once all checks can rely on them.

    :raises ValueError: one does not fit, which is named.
    """
    told = facts.get("fingerprint")
    parts = {**(told if isinstance(told, dict) else {}), **facts}
    for name in (*get_type_hints(NodeFingerprint), *get_type_hints(NodeFacts)):
        try:
            check_plain(parts.get(name))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    check_shape(facts, NodeFacts, "facts", {})
    known = cast(NodeFacts, facts)
    if len(known["clock_skew"]) != 2:
        raise ValueError(f"facts.clock_skew is {known['clock_skew']!r:.80}, not two numbers")
    _check_addresses(known)
    return known


def _check_addresses(facts: NodeFacts) -> None:
    try:
        for name, address in facts.get("addresses", {}).items():
            where = f"facts.addresses.{name:.80}"
            ipaddress.IPv4Address(address)
        for index, route in enumerate(facts.get("routes", ())):
            where = f"facts.routes[{index}].network"
            ipaddress.IPv4Network(route["network"], strict=False)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
