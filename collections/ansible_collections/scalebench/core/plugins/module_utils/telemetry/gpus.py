"""The GPUs of a node and how they are set, out of nvidia-smi's answer to one query."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

__all__ = ["GPU_QUERY", "SETTINGS_QUERY", "parse_gpu_settings", "parse_gpus"]

# nvidia-smi's own names; see `nvidia-smi --help-query-gpu`.
GPU_QUERY = ("index", "name", "memory.total", "driver_version", "uuid")


def _number(text: str) -> Optional[float]:
    """Return a figure; None for ``[N/A]``, ``[Not Supported]`` and the like."""
    return float(text) if text.replace(".", "", 1).isdigit() else None


def _word(text: str) -> Optional[str]:
    return None if text.startswith("[") else text


# Our name and the meaning of each further field of the query. Clocks are in MHz, power in W.
_SETTINGS: Mapping[str, Tuple[str, Callable[[str], Any]]] = {
    "clocks.applications.graphics": ("application_clock_mhz", _number),
    "clocks.applications.memory": ("application_memory_clock_mhz", _number),
    "clocks.max.graphics": ("maximum_clock_mhz", _number),
    "clocks.max.memory": ("maximum_memory_clock_mhz", _number),
    "power.limit": ("power_limit_watts", _number),
    "persistence_mode": ("persistence_mode", _word),
    "ecc.mode.current": ("ecc_mode", _word),
}
SETTINGS_QUERY = tuple(_SETTINGS)


def parse_gpus(text: str) -> List[Dict[str, Any]]:
    """Return what the GPUs are; memory in MiB.

    :param text: CSV without header and units: fields ``GPU_QUERY``, then ``SETTINGS_QUERY`` or
        nothing.
    :raises ValueError: a line has not the fields that were asked for (nvidia-smi printed an error).
    """
    gpus = []
    for fields in _rows(text):
        index, name, memory, driver, uuid = fields[: len(GPU_QUERY)]
        mib = _number(memory)
        gpus.append(
            {
                "index": int(index),
                "name": name,
                "memory_mib": None if mib is None else int(mib),
                "driver": driver,
                "uuid": uuid,
            }
        )
    return gpus


def parse_gpu_settings(text: str) -> List[Dict[str, Any]]:
    """Return how the GPUs are set; what a GPU does not tell is null.

    They stand apart from ``parse_gpus``, which a campaign compares before it goes on: a changed
    power limit is to be seen, and does not make another cluster.

    :raises ValueError: as ``parse_gpus``.
    """
    settings = []
    for fields in _rows(text):
        told: Dict[str, Any] = {"index": int(fields[0])}
        for query, value in zip(SETTINGS_QUERY, fields[len(GPU_QUERY) :]):
            name, read = _SETTINGS[query]
            told[name] = read(value)
        settings.append(told)
    return settings


def _rows(text: str) -> List[List[str]]:
    known = (len(GPU_QUERY), len(GPU_QUERY) + len(SETTINGS_QUERY))
    rows = [[field.strip() for field in line.split(",")] for line in text.strip().splitlines()]
    for row in rows:
        if len(row) not in known or not row[0].isdigit():
            raise ValueError(f"nvidia-smi answered {', '.join(row)!r}, not {', '.join(GPU_QUERY)}")
    return rows
