"""Disturbances of a repeat: what the telemetry of its nodes shows of other load and faults."""

from __future__ import annotations

from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from ..records.node_names import folded
from ..records.runs import GpuSummary, NodeTelemetry

__all__ = ["LIMITS", "find"]

Node = Mapping[str, Any]

# A figure above its limit is reported as a disturbance.
LIMITS: Mapping[str, float] = {
    # Fraction of the machine's CPU time used by processes outside the repeat …
    "other_process_share": 0.05,
    # … and the CPU seconds that they used. Below that are the system's daemons, and Ansible that
    # still starts some nodes while others run: 2.6 s measured with four nodes on one machine.
    "other_process_seconds": 5.0,
    # Fraction of the machine's CPU time that the hypervisor gave to other machines.
    "steal_share": 0.02,
    # One-minute load average per core just before the repeat started …
    "load_before_per_core": 0.5,
    # … judged only if no repeat ran on the machine for this many seconds: the load of an earlier
    # repeat halves every 42 s (the kernel's average decays with e^(-t/60)).
    "load_before_idle_seconds": 180.0,
    # Fraction of a GPU's samples with a thermal or power-brake slowdown.
    "throttled_share": 0.05,
    # Thermal throttling events of CPU cores.
    "cpu_throttle_events": 0,
    # Uncorrected memory errors of a GPU.
    "ecc_uncorrected": 0,
    # Critical Xid errors of a GPU.
    "xid": 0,
    # Errors or losses of one network or InfiniBand link.
    "link_errors": 0,
    # Fraction of the time in which a process waited for memory.
    "memory_stall_share": 0.01,
    # MiB read back from swap.
    "swapped_in_mib": 16.0,
    # Seconds in which the supervisor of a node, which looks once a second, did not run.
    "paused_seconds": 10.0,
}
Limits = Mapping[str, float]
Findings = Iterator[Tuple[str, str]]
# Without sw_power_cap: a GPU under full load always runs at its power limit. Without hw_slowdown:
# it "may be also reported during PState or clock change", and its two lasting causes have reasons
# of their own. Source: NVML API Reference Guide, nvmlClocksEventReasons.
_SLOWDOWNS = ("sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")


def find(nodes: Mapping[str, Node], limits: Mapping[str, float] = LIMITS) -> List[Dict[str, str]]:
    """Return the disturbances of one repeat, each with ``kind``, ``node`` and ``detail``.

    Kinds: other_process, steal, load_before, throttled, ecc, xid, link_errors, memory_pressure,
    paused.
    Figures absent from the telemetry are not judged. Nodes that share a kernel are judged as one
    machine, under the name of the first.

    :param nodes: all nodes of the repeat by name: ``telemetry`` (of module training_run; None
        without one), ``boot_id`` (the kernel's) and, for load_before, ``idle_seconds`` since an
        earlier repeat ended on that machine.
    :param limits: override those of ``LIMITS``, in the same units.
    :raises ValueError: a limit is not among ``LIMITS``.
    """
    unknown = sorted(set(limits) - set(LIMITS))
    if unknown:
        raise ValueError(f"no limit named {', '.join(unknown)}: use one of {', '.join(LIMITS)}")
    machines: Dict[str, List[str]] = {}
    for name, node in nodes.items():
        machines.setdefault(node.get("boot_id") or name, []).append(name)
    disturbances = []
    for names in machines.values():
        machine = _machine([nodes[name] for name in names])
        if machine is None:
            continue
        shared = f" (one machine with {folded(names[1:])})" if len(names) > 1 else ""
        for kind, detail in _machine_disturbances(machine, {**LIMITS, **limits}):
            disturbances.append({"kind": kind, "node": names[0], "detail": detail + shared})
    return disturbances


def _machine(nodes: Sequence[Node]) -> Optional[Machine]:
    telemetries: List[NodeTelemetry] = [
        node["telemetry"] for node in nodes if node.get("telemetry")
    ]
    if not telemetries:
        return None
    own = sum(telemetry["cpu"]["own_seconds"] for telemetry in telemetries)
    return Machine(
        max(telemetries, key=lambda telemetry: float(telemetry["seconds"])),
        own if len(telemetries) == len(nodes) else None,
        min(node.get("idle_seconds", 0.0) for node in nodes),
    )


class Machine(NamedTuple):
    """The state of one machine during the repeat; it may run several of its nodes.

    :param telemetry: of the node that ran longest, which covers the whole repeat.
    :param own_seconds: CPU seconds of the repeat, of all its nodes on the machine; None where a
        node has no telemetry.
    :param idle_seconds: between the end of an earlier repeat there and the start of this one.
    """

    telemetry: NodeTelemetry
    own_seconds: Optional[float]
    idle_seconds: float

    @property
    def capacity(self) -> float:
        """Return the CPU seconds that the machine had during the repeat; 0 where unknown."""
        return float(self.telemetry["cpu"].get("cores", 0) * self.telemetry["seconds"])


def _other_process(machine: Machine, limits: Limits) -> Findings:
    """Judge the machine's CPU time minus that of the repeat.

    Interrupts are not included: those of the repeat's own traffic belong to no process. Some
    kernels charge them to the interrupted process, which only makes the difference smaller.
    """
    if machine.own_seconds is None or not machine.capacity:
        return
    others = machine.telemetry["cpu"].get("busy_seconds", 0.0) - machine.own_seconds
    share = others / machine.capacity
    if share > limits["other_process_share"] and others > limits["other_process_seconds"]:
        yield (
            "other_process",
            f"processes outside the repeat took {others:.1f} CPU seconds,"
            f" {share:.1%} of the machine's CPU time",
        )


def _steal(machine: Machine, limits: Limits) -> Findings:
    stolen = machine.telemetry["cpu"].get("steal_seconds", 0)
    if stolen > limits["steal_share"] * machine.capacity:
        yield "steal", f"the hypervisor gave {stolen:.2f} CPU seconds to other machines"


def _load_before(machine: Machine, limits: Limits) -> Findings:
    if machine.idle_seconds < limits["load_before_idle_seconds"]:
        return
    load = machine.telemetry.get("load", {}).get("before", 0)
    cores = machine.telemetry["cpu"].get("cores", 0)
    if load > limits["load_before_per_core"] * cores > 0:
        yield "load_before", f"the load was {load:g} on {cores} cores before the repeat began"


def _cpu_throttled(machine: Machine, limits: Limits) -> Findings:
    events = machine.telemetry.get("cpu_throttle_events", 0)
    if events > limits["cpu_throttle_events"]:
        yield "throttled", f"CPU cores were thermally throttled {events:g} times"


def _gpus(machine: Machine, limits: Limits) -> Findings:
    for gpu in machine.telemetry.get("gpus", ()):
        yield from _gpu_disturbances(gpu, limits)


def _links(machine: Machine, limits: Limits) -> Findings:
    told = machine.telemetry
    for links in (told.get("network", {}), told.get("infiniband", {})):
        for interface, figures in sorted(links.items()):
            errors, downed = figures.get("errors", 0), figures.get("link_downed", 0)
            if errors + downed > limits["link_errors"]:
                yield "link_errors", f"{interface}: {errors:g} errors, {downed:g} times down"


def _memory_pressure(machine: Machine, limits: Limits) -> Findings:
    stall = machine.telemetry.get("memory_stall_seconds", 0)
    if stall > limits["memory_stall_share"] * machine.telemetry["seconds"]:
        yield "memory_pressure", f"processes waited {stall:.1f} s for memory"
    swapped = machine.telemetry.get("swapped_in_mib", 0)
    if swapped > limits["swapped_in_mib"]:
        yield "memory_pressure", f"{swapped:.0f} MiB were read back from swap"


def _paused(machine: Machine, limits: Limits) -> Findings:
    pause = machine.telemetry.get("longest_pause_seconds", 0)
    if pause > limits["paused_seconds"]:
        yield (
            "paused",
            f"nothing of the repeat ran for {pause:.0f} s: the scheduler suspended its job, or the"
            " machine stood still",
        )


_RULES: Sequence[Callable[[Machine, Limits], Findings]] = (
    *(_other_process, _steal, _load_before, _cpu_throttled, _gpus, _links, _memory_pressure),
    _paused,
)


def _machine_disturbances(machine: Machine, limits: Limits) -> Findings:
    """Yield kind and detail of every disturbance of one machine.

    :param limits: all of ``LIMITS``.
    """
    for rule in _RULES:
        yield from rule(machine, limits)


def _gpu_disturbances(gpu: GpuSummary, limits: Limits) -> Findings:
    """Yield kind (throttled, ecc, xid) and detail of every disturbance of one GPU.

    :param gpu: an entry of ``gpus`` of a telemetry.
    """
    name = f"GPU {gpu['index']}"
    for reason in _SLOWDOWNS:
        share = gpu.get("throttle", {}).get(reason, 0)
        if share > limits["throttled_share"]:
            yield "throttled", f"{name}: {reason} in {share:.0%} of the samples"
    errors = gpu.get("ecc_uncorrected", 0)
    if errors > limits["ecc_uncorrected"]:
        yield "ecc", f"{name}: {errors} uncorrected memory errors"
    xid = gpu.get("xid", ())
    if len(xid) > limits["xid"]:
        yield "xid", f"{name}: Xid {', '.join(str(code) for code in xid)}"
