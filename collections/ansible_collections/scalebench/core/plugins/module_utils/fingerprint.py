"""What a node is: hardware and software facts, read out of the texts that Linux offers."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

__all__ = ["fingerprint", "parse_gpus"]

# nvidia-smi's own names; see `nvidia-smi --help-query-gpu`.
GPU_QUERY = ("index", "name", "memory.total", "driver_version", "uuid")


def fingerprint(texts: Mapping[str, str]) -> Dict[str, Any]:
    """Return the facts of one node.

    :param texts: file contents by name: ``cpuinfo``, ``meminfo``, ``os_release``, ``machine_id``,
        ``boot_id``, ``loadavg``, ``gpus`` (nvidia-smi, CSV without header and units, fields
        ``GPU_QUERY``). What is missing is an empty text.
    :returns: ``cpu_model``, ``memory_mib``, ``os``, ``machine_id``, ``boot_id``, ``load`` (of one
        minute), ``gpus``.
    """
    cpus = _pairs(texts.get("cpuinfo", ""), ":")
    memory = _pairs(texts.get("meminfo", ""), ":").get("MemTotal", "0 kB")
    system = _pairs(texts.get("os_release", ""), "=")
    load = texts.get("loadavg", "").split()
    return {
        "cpu_model": cpus.get("model name") or cpus.get("Model") or "unknown",
        "memory_mib": int(memory.split()[0]) // 1024,
        "os": system.get("PRETTY_NAME", "unknown").strip('"'),
        "machine_id": texts.get("machine_id", "").strip(),
        "boot_id": texts.get("boot_id", "").strip(),
        "load": float(load[0]) if load else 0.0,
        "gpus": parse_gpus(texts.get("gpus", "")),
    }


def parse_gpus(text: str) -> List[Dict[str, Any]]:
    """Return the GPUs out of nvidia-smi's answer to ``GPU_QUERY``; memory in MiB.

    :raises ValueError: a line has not the fields that were asked for (nvidia-smi printed an error).
    """
    gpus = []
    for line in text.strip().splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != len(GPU_QUERY) or not fields[0].isdigit():
            raise ValueError(f"nvidia-smi answered {line!r}, not {', '.join(GPU_QUERY)}")
        index, name, memory, driver, uuid = fields
        gpus.append(
            {
                "index": int(index),
                "name": name,
                "memory_mib": int(float(memory)) if memory.replace(".", "").isdigit() else None,
                "driver": driver,
                "uuid": uuid,
            }
        )
    return gpus


def _pairs(text: str, separator: str) -> Dict[str, str]:
    """Return the first value of each key of ``key<separator>value`` lines."""
    found: Dict[str, str] = {}
    for line in text.splitlines():
        key, mark, value = line.partition(separator)
        if mark:
            found.setdefault(key.strip(), value.strip())
    return found
