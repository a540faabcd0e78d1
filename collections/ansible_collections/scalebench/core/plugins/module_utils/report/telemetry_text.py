"""The telemetry of a campaign as tables: a row a cell, the median over its repeats."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..layout.rows import cell_groups, labels
from ..layout.sections import markdown_table
from ..stats.statistics import median

__all__ = ["telemetry_rows", "telemetry_tables"]

Cell = Mapping[str, Any]


def telemetry_tables(results: Mapping[str, Any]) -> List[str]:
    """Return the table of CPUs, memory and links, and that of the GPUs, as far as there are any."""
    return [markdown_table(rows) for rows in telemetry_rows(results) if rows]


def telemetry_rows(results: Mapping[str, Any]) -> Tuple[List[Dict[str, Any]], List[Dict[str, Any]]]:
    """Return the rows of both tables, machines and GPUs."""
    groups = cell_groups(results)
    machines, gpus = [], []
    for label, cells in zip(labels(groups), groups):
        for cell in cells:
            name = f"{label} {cell['topology']}" if len(groups) > 1 else cell["topology"]
            told = [r["telemetry"] for r in cell["repeats"] if r["throughput"] and r["telemetry"]]
            if told:
                machines.append({"cell": name, **_machine_row(told)})
            if any("gpu_utilisation" in one for one in told):
                gpus.append({"cell": name, **_gpu_row(told)})
    return machines, gpus


def _machine_row(told: List[Mapping[str, Any]]) -> Dict[str, Any]:
    links = [one["link"] for one in told if "link" in one]
    rate = median([link["mib_per_second"] for link in links]) if links else None
    memory = _median(told, "memory_used_mib")
    return {
        "CPU busy %": _whole(_median(told, "cpu_busy_share"), 100),
        "by the repeat %": _whole(_median(told, "cpu_own_share"), 100),
        "memory used, GiB": None if memory is None else round(memory / 1024, 1),
        "busiest link": ", ".join(sorted({link["name"] for link in links})) or "-",
        "MiB/s": rate,
    }


def _gpu_row(told: List[Mapping[str, Any]]) -> Dict[str, Any]:
    memory = _median(told, "gpu_memory_used_mib")
    slowed: Dict[str, float] = {}
    for one in told:
        for reason, share in one.get("gpu_throttle", {}).items():
            slowed[reason] = max(share, slowed.get(reason, 0.0))
    greatest = max(slowed, key=lambda reason: slowed[reason], default="")
    return {
        "GPU %": _whole(_median(told, "gpu_utilisation")),
        "memory, GiB": None if memory is None else round(memory / 1024, 1),
        "W": _whole(_median(told, "gpu_power_w")),
        "SM MHz": _whole(_median(told, "gpu_sm_clock_mhz")),
        "°C": _whole(_median(told, "gpu_temperature_c")),
        "clock held back": f"{greatest} {slowed[greatest]:.0%}" if greatest else "no",
    }


def _median(told: List[Mapping[str, Any]], key: str) -> Optional[float]:
    values = [one[key] for one in told if key in one]
    return median(values) if values else None


def _whole(value: Optional[float], factor: float = 1) -> Optional[int]:
    return None if value is None else round(value * factor)
