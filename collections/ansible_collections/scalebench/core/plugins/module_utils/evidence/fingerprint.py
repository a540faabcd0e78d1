"""The fingerprint of a node: hardware and software, parsed from files and tools of Linux."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, TypedDict

__all__ = [
    "GPU_QUERY",
    "SETTINGS_QUERY",
    "Fingerprint",
    "fingerprint",
    "parse_gpu_settings",
    "parse_gpus",
]

# Field names of nvidia-smi: `nvidia-smi --help-query-gpu`.
GPU_QUERY = ("index", "name", "memory.total", "driver_version", "uuid")


class Gpu(TypedDict):
    """One GPU as nvidia-smi reports it."""

    index: int
    name: str
    memory_mib: Optional[int]
    driver: str
    uuid: str


class Fingerprint(TypedDict):
    """The facts of one node; None where the node does not report one."""

    cpu_model: str
    cpu_governor: Optional[str]
    memory_mib: int
    os: str
    machine_id: str
    boot_id: str
    load: float  # of one minute
    virtualisation: Optional[str]
    tcp_congestion_control: Optional[str]
    ofed: Optional[str]
    cuda_driver: Optional[str]
    cuda_toolkit: Optional[str]
    nccl: Optional[str]
    gpus: List[Gpu]
    gpu_settings: List[Dict[str, Any]]


def fingerprint(texts: Mapping[str, str]) -> Fingerprint:
    """Return the facts of one node.

    :param texts: the output of files and tools, by name: ``cpuinfo``, ``meminfo``, ``os_release``,
        ``machine_id``, ``boot_id``, ``loadavg``, ``governors`` (one line per frequency policy),
        ``congestion`` (net.ipv4.tcp_congestion_control), ``virtualisation``
        (systemd-detect-virt), ``nvcc`` (--version), ``ofed`` (ofed_info -s), ``nccl`` (file name
        of the system's library), ``cuda_driver`` (of cuDriverGetVersion, 12040 for 12.4),
        ``gpus`` (nvidia-smi, see :func:`parse_gpus`). A missing text counts as empty.
    :raises ValueError: nvidia-smi printed an error.
    """
    cpus = _pairs(texts.get("cpuinfo", ""), ":")
    memory = _pairs(texts.get("meminfo", ""), ":").get("MemTotal", "0 kB")
    system = _pairs(texts.get("os_release", ""), "=")
    load = texts.get("loadavg", "").split()
    return {
        "cpu_model": cpus.get("model name") or cpus.get("Model") or "unknown",
        "cpu_governor": ", ".join(sorted(set(texts.get("governors", "").split()))) or None,
        "memory_mib": int(memory.split()[0]) // 1024,
        "os": system.get("PRETTY_NAME", "unknown").strip('"'),
        "machine_id": texts.get("machine_id", "").strip(),
        "boot_id": texts.get("boot_id", "").strip(),
        "load": float(load[0]) if load else 0.0,
        "virtualisation": _virtualisation(texts.get("virtualisation", ""), cpus.get("flags", "")),
        "tcp_congestion_control": texts.get("congestion", "").strip() or None,
        "ofed": texts.get("ofed", "").strip().rstrip(":") or None,
        "cuda_driver": _cuda_driver(texts.get("cuda_driver", "")),
        "cuda_toolkit": _first_group(r"release [\d.]+, V([\d.]+)", texts.get("nvcc", "")),
        "nccl": _first_group(r"libnccl\.so\.([\d.]+)", texts.get("nccl", "")),
        "gpus": parse_gpus(texts.get("gpus", "")),
        "gpu_settings": parse_gpu_settings(texts.get("gpus", "")),
    }


def _virtualisation(detected: str, cpu_flags: str) -> Optional[str]:
    """Return systemd's name of the hypervisor, ``hypervisor`` by the CPU's flag, or None."""
    if detected.strip():
        return detected.strip()
    return "hypervisor" if "hypervisor" in cpu_flags.split() else None


def _cuda_driver(code: str) -> Optional[str]:
    if not code:
        return None
    # 1000 * major + 10 * minor: https://docs.nvidia.com/cuda/cuda-driver-api/
    return f"{int(code) // 1000}.{int(code) % 1000 // 10}"


def _first_group(pattern: str, text: str) -> Optional[str]:
    match = re.search(pattern, text)
    return match.group(1) if match else None


def _pairs(text: str, separator: str) -> Dict[str, str]:
    """Return the first value of each key of ``key<separator>value`` lines."""
    pairs: Dict[str, str] = {}
    for line in text.splitlines():
        key, mark, value = line.partition(separator)
        if mark:
            pairs.setdefault(key.strip(), value.strip())
    return pairs


def _number(text: str) -> Optional[float]:
    """Return a number; None for ``[N/A]``, ``[Not Supported]`` and the like."""
    return float(text) if text.replace(".", "", 1).isdigit() else None


def _word(text: str) -> Optional[str]:
    return None if text.startswith("[") else text


# Our key and the parser of each further field of the query. Clocks are in MHz, power in W.
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


def parse_gpus(text: str) -> List[Gpu]:
    """Return the GPUs of a node.

    :param text: CSV of nvidia-smi without header and units: the fields of ``GPU_QUERY``,
        optionally followed by those of ``SETTINGS_QUERY``.
    :raises ValueError: a line does not have these fields (nvidia-smi printed an error).
    """
    gpus: List[Gpu] = []
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
    """Return the settings of the GPUs, each with its ``index``; null where not reported.

    They are separate from :func:`parse_gpus`, whose result a resumed campaign compares: a changed
    power limit is reported, but does not make the node another one.

    :param text: as for :func:`parse_gpus`.
    :raises ValueError: as :func:`parse_gpus`.
    """
    settings = []
    for fields in _rows(text):
        setting: Dict[str, Any] = {"index": int(fields[0])}
        for query, value in zip(SETTINGS_QUERY, fields[len(GPU_QUERY) :]):
            key, parse = _SETTINGS[query]
            setting[key] = parse(value)
        settings.append(setting)
    return settings


def _rows(text: str) -> List[List[str]]:
    known = (len(GPU_QUERY), len(GPU_QUERY) + len(SETTINGS_QUERY))
    rows = [[field.strip() for field in line.split(",")] for line in text.strip().splitlines()]
    for row in rows:
        if len(row) not in known or not row[0].isdigit():
            raise ValueError(f"nvidia-smi answered {', '.join(row)!r}, not {', '.join(GPU_QUERY)}")
    return rows
