"""Read the counters that Linux keeps since boot: CPU time, traffic, errors, memory pressure."""

from __future__ import annotations

import glob
import os
from typing import Any, Dict, List, Optional

__all__ = ["first_number", "kernel_counters", "numbers", "read_text"]

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
# Symbol errors are left out: a healthy link has some (its specified bit error rate is not zero).
_LINK_ERRORS = (
    *("port_rcv_errors", "link_error_recovery"),
    *("local_link_integrity_errors", "excessive_buffer_overrun_errors"),
)


def read_text(path: str) -> str:
    """Return a file's text; empty where it is not there or cannot be read now."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def first_number(path: str) -> Optional[float]:
    """Return the number that a file of /sys begins with; None where it tells none."""
    try:
        return float(read_text(path).split()[0])
    except (IndexError, ValueError):
        return None


def numbers(paths: List[str]) -> List[float]:
    """Return the numbers of those files that tell one."""
    return [number for number in map(first_number, paths) if number is not None]


def kernel_counters(proc: str = "/proc", sys: str = "/sys") -> Dict[str, Any]:
    """Return all counters that the node has, in the form ``telemetry.Telemetry`` takes.

    Times are of all cores together, in seconds. Layouts: proc_stat(5), proc_vmstat(5),
    proc_net(5), the kernel's accounting/psi and ABI/stable/sysfs-class-infiniband.
    """
    found: Dict[str, Any] = {}
    cpu = _cpu(read_text(f"{proc}/stat"))
    network = _network(read_text(f"{proc}/net/dev"))
    infiniband = _infiniband(f"{sys}/class/infiniband")
    stall = _memory_stall(read_text(f"{proc}/pressure/memory"))
    swapped = _swapped_in(read_text(f"{proc}/vmstat"))
    throttles = numbers(
        glob.glob(f"{sys}/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count")
    )
    if cpu:
        found["cpu"] = cpu
    if network:
        found["network"] = network
    if infiniband:
        found["infiniband"] = infiniband
    if stall is not None:
        found["memory_stall_seconds"] = stall
    if swapped is not None:
        found["swapped_in_mib"] = swapped
    if throttles:
        found["cpu_throttle_events"] = sum(throttles)
    return found


def _cpu(text: str) -> Dict[str, float]:
    """Return the times of the line ``cpu``; guests' time is already in that of user and nice."""
    lines = [line.split() for line in text.splitlines() if line.startswith("cpu")]
    if not lines:
        return {}
    user, nice, system, _idle, iowait, irq, softirq, steal = map(int, lines[0][1:9])
    return {
        "cores": len(lines) - 1,
        "busy_seconds": (user + nice + system) / _TICKS,
        "iowait_seconds": iowait / _TICKS,
        "irq_seconds": (irq + softirq) / _TICKS,
        "steal_seconds": steal / _TICKS,
    }


def _network(text: str) -> Dict[str, Dict[str, int]]:
    found = {}
    for line in text.splitlines()[2:]:
        interface, _, figures = line.partition(":")
        fields = [int(field) for field in figures.split()]
        found[interface.strip()] = {
            "received_bytes": fields[0],
            "sent_bytes": fields[8],
            "errors": fields[2] + fields[10],
        }
    return found


def _infiniband(folder: str) -> Dict[str, Dict[str, float]]:
    """Return the counters of each port, named as ``mlx5_0/1``."""
    found = {}
    for counters in glob.glob(f"{folder}/*/ports/*/counters"):
        parts = counters.split("/")
        port: Dict[str, float] = {}
        for name, file in (("received", "port_rcv_data"), ("sent", "port_xmit_data")):
            words = first_number(f"{counters}/{file}")
            if words is not None:
                # The counter is in units of four bytes.
                port[f"{name}_bytes"] = words * 4
        errors = numbers([f"{counters}/{name}" for name in _LINK_ERRORS])
        if errors:
            port["errors"] = sum(errors)
        downed = first_number(f"{counters}/link_downed")
        if downed is not None:
            port["link_downed"] = downed
        found[f"{parts[-4]}/{parts[-2]}"] = port
    return found


def _memory_stall(text: str) -> Optional[float]:
    """Return for how many seconds at least one task waited for memory."""
    for line in text.splitlines():
        if line.startswith("some"):
            return int(line.rpartition("total=")[2]) / 1e6
    return None


def _swapped_in(text: str) -> Optional[float]:
    for line in text.splitlines():
        if line.startswith("pswpin "):
            return int(line.split()[1]) * _PAGE_MIB
    return None
