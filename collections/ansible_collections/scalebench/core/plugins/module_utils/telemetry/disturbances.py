"""What spoiled the measurement of a repeat, judged by the telemetry of all its nodes."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from .machine_disturbances import Machine, machine_disturbances

__all__ = ["LIMITS", "find"]

Node = Mapping[str, Any]

# A figure above its limit is a disturbance.
LIMITS: Mapping[str, float] = {
    # Share of the machine's CPU time that went to processes outside the repeat …
    "other_process_share": 0.05,
    # … and CPU seconds of it. Less is the system's daemons, and Ansible that still starts some
    # nodes while others run: 2.6 s were measured with four nodes on one machine.
    "other_process_seconds": 5.0,
    # Share of the machine's CPU time that a hypervisor gave to others.
    "steal_share": 0.02,
    # Load of one minute for each core just before the repeat began …
    "load_before_per_core": 0.5,
    # … judged only where nothing of ours ran for this many seconds: the load of an earlier repeat
    # fades by half in 42 s (the kernel's average decays with e^(-t/60)).
    "load_before_idle_seconds": 180.0,
    # Share of a GPU's samples with a thermal or power-brake slowdown.
    "throttled_share": 0.05,
    # Times that a CPU core was slowed down for its temperature.
    "cpu_throttle_events": 0,
    # Uncorrected memory errors of a GPU.
    "ecc_uncorrected": 0,
    # Critical Xid errors of a GPU.
    "xid": 0,
    # Errors or losses of one network or InfiniBand link.
    "link_errors": 0,
    # Share of the time in which a process waited for memory.
    "memory_stall_share": 0.01,
    # MiB read back from swap.
    "swapped_in_mib": 16.0,
}


def find(nodes: Mapping[str, Node], limits: Mapping[str, float] = LIMITS) -> List[Dict[str, str]]:
    """Return the disturbances of one repeat, each with ``kind``, ``node`` and ``detail``.

    Kinds: other_process, steal, load_before, throttled, ecc, xid, link_errors, memory_pressure.
    What telemetry does not tell is not judged. Nodes that share a kernel are judged together,
    under the name of the first.

    :param nodes: all nodes of the repeat by name: ``telemetry`` (of module training_run, None
        where there is none), ``boot_id`` (the kernel's) and, for load_before, ``idle_seconds``
        since an earlier repeat ended on that machine.
    :param limits: instead of those of ``LIMITS``, in their units.
    :raises ValueError: a limit is not among ``LIMITS``.
    """
    unknown = sorted(set(limits) - set(LIMITS))
    if unknown:
        raise ValueError(f"no limit named {', '.join(unknown)}: use one of {', '.join(LIMITS)}")
    machines: Dict[str, List[str]] = {}
    for name, node in nodes.items():
        machines.setdefault(node.get("boot_id") or name, []).append(name)
    found = []
    for names in machines.values():
        machine = _machine([nodes[name] for name in names])
        if machine is None:
            continue
        shared = f" (one machine with {', '.join(names[1:])})" if len(names) > 1 else ""
        for kind, detail in machine_disturbances(machine, {**LIMITS, **limits}):
            found.append({"kind": kind, "node": names[0], "detail": detail + shared})
    return found


def _machine(nodes: Sequence[Node]) -> Optional[Machine]:
    told = [node["telemetry"] for node in nodes if node.get("telemetry")]
    if not told:
        return None
    own = sum(telemetry["cpu"]["own_seconds"] for telemetry in told)
    return Machine(
        max(told, key=lambda telemetry: float(telemetry["seconds"])),
        own if len(told) == len(nodes) else None,
        min(node.get("idle_seconds", 0.0) for node in nodes),
    )
