"""What spoiled the measurement on one machine, which may be several nodes of the repeat."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from .gpu_disturbances import gpu_disturbances

__all__ = ["Machine", "machine_disturbances"]

Limits = Mapping[str, float]
Findings = Iterator[Tuple[str, str]]


class Machine(NamedTuple):
    """What is known of one machine during the repeat.

    :param telemetry: of the node that ran longest on it: what it tells of the machine is whole.
    :param own_seconds: CPU seconds of the repeat, of all its nodes there; None where one is silent.
    :param idle_seconds: since an earlier repeat ended there.
    """

    telemetry: Mapping[str, Any]
    own_seconds: Optional[float]
    idle_seconds: float

    @property
    def capacity(self) -> float:
        """CPU seconds that the machine had during the repeat; 0 where that is not known."""
        return float(self.telemetry["cpu"].get("cores", 0) * self.telemetry["seconds"])


def _other_process(machine: Machine, limits: Limits) -> Findings:
    """Judge the machine's CPU time less that of the repeat.

    Interrupts are not in it: those of the repeat's own traffic are no process's. Some kernels
    count them to the process that they interrupt, which makes the difference smaller, never larger.
    """
    if machine.own_seconds is None or not machine.capacity:
        return
    others = machine.telemetry["cpu"]["busy_seconds"] - machine.own_seconds
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
        yield "steal", f"the hypervisor gave {stolen:.1f} CPU seconds to other machines"


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
        yield "throttled", f"CPU cores were slowed down for their temperature {events:g} times"


def _gpus(machine: Machine, limits: Limits) -> Findings:
    for gpu in machine.telemetry.get("gpus", ()):
        yield from gpu_disturbances(gpu, limits)


def _links(machine: Machine, limits: Limits) -> Findings:
    for kind in ("network", "infiniband"):
        for interface, figures in sorted(machine.telemetry.get(kind, {}).items()):
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


_RULES: Sequence[Callable[[Machine, Limits], Findings]] = (
    *(_other_process, _steal, _load_before, _cpu_throttled, _gpus, _links, _memory_pressure),
)


def machine_disturbances(machine: Machine, limits: Limits) -> Findings:
    """Yield kind and detail of every disturbance of one machine.

    :param limits: all of ``disturbances.LIMITS``.
    """
    for rule in _RULES:
        yield from rule(machine, limits)
