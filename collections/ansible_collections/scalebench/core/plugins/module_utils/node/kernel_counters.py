"""The counters that Linux keeps since boot: CPU time, traffic, errors, memory pressure."""

from __future__ import annotations

import glob
import os
from typing import Any, Dict, List, Optional

__all__ = ["first_number", "kernel_counters", "numbers", "read_text"]

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
# Without symbol errors, of which a healthy link has some (its specified bit error rate is not 0).
_LINK_ERRORS = (
    *("port_rcv_errors", "link_error_recovery"),
    *("local_link_integrity_errors", "excessive_buffer_overrun_errors"),
)


def read_text(path: str) -> str:
    """Return a file's text; empty if it cannot be read."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def first_number(path: str) -> Optional[float]:
    """Return the number at the start of a file; None without one."""
    try:
        return float(read_text(path).split()[0])
    except (IndexError, ValueError):
        return None


def numbers(paths: List[str]) -> List[float]:
    """Return the numbers at the start of files, without those that have none."""
    return [number for number in map(first_number, paths) if number is not None]


def kernel_counters(proc: str = "/proc", sys: str = "/sys") -> Dict[str, Any]:
    """Return the counters of the node that ``Telemetry`` takes; absent where not available.

    CPU times are in seconds, summed over all cores. Formats: proc_stat(5), proc_vmstat(5),
    proc_net(5), the kernel's accounting/psi and ABI/stable/sysfs-class-infiniband.
    """
    counters: Dict[str, Any] = {}
    cpu = _cpu(read_text(f"{proc}/stat"))
    network = _network(read_text(f"{proc}/net/dev"))
    infiniband = _infiniband(f"{sys}/class/infiniband")
    stall = _memory_stall(read_text(f"{proc}/pressure/memory"))
    swapped = _swapped_in(read_text(f"{proc}/vmstat"))
    throttles = numbers(
        glob.glob(f"{sys}/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count")
    )
    if cpu:
        counters["cpu"] = cpu
    if network:
        counters["network"] = network
    if infiniband:
        counters["infiniband"] = infiniband
    if stall is not None:
        counters["memory_stall_seconds"] = stall
    if swapped is not None:
        counters["swapped_in_mib"] = swapped
    if throttles:
        counters["cpu_throttle_events"] = sum(throttles)
    return counters


def _cpu(text: str) -> Dict[str, float]:
    """Return the CPU times of /proc/stat; those of guests are included in user and nice."""
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
    traffic = {}
    for line in text.splitlines()[2:]:
        interface, _, figures = line.partition(":")
        fields = [int(field) for field in figures.split()]
        traffic[interface.strip()] = {
            "received_bytes": fields[0],
            "sent_bytes": fields[8],
            "errors": fields[2] + fields[10],
        }
    return traffic


def _infiniband(folder: str) -> Dict[str, Dict[str, float]]:
    """Return the counters of each port, by name, such as ``mlx5_0/1``."""
    ports = {}
    for counters in glob.glob(f"{folder}/*/ports/*/counters"):
        parts = counters.split("/")
        port: Dict[str, float] = {}
        for name, file in (("received", "port_rcv_data"), ("sent", "port_xmit_data")):
            words = first_number(f"{counters}/{file}")
            if words is not None:
                # The counter has units of four bytes.
                port[f"{name}_bytes"] = words * 4
        errors = numbers([f"{counters}/{name}" for name in _LINK_ERRORS])
        if errors:
            port["errors"] = sum(errors)
        downed = first_number(f"{counters}/link_downed")
        if downed is not None:
            port["link_downed"] = downed
        ports[f"{parts[-4]}/{parts[-2]}"] = port
    return ports


def _memory_stall(text: str) -> Optional[float]:
    """Return the seconds in which at least one task waited for memory."""
    for line in text.splitlines():
        if line.startswith("some"):
            return int(line.rpartition("total=")[2]) / 1e6
    return None


def _swapped_in(text: str) -> Optional[float]:
    for line in text.splitlines():
        if line.startswith("pswpin "):
            return int(line.split()[1]) * _PAGE_MIB
    return None
