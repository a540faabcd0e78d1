"""What a node is: hardware and software facts, read out of the texts that Linux offers."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Optional

from ..telemetry.gpus import parse_gpu_settings, parse_gpus

__all__ = ["fingerprint"]


def fingerprint(texts: Mapping[str, str]) -> Dict[str, Any]:
    """Return the facts of one node.

    :param texts: what files and tools say, by name: ``cpuinfo``, ``meminfo``, ``os_release``,
        ``machine_id``, ``boot_id``, ``loadavg``, ``governors`` (one line per frequency policy),
        ``congestion`` (net.ipv4.tcp_congestion_control), ``virtualisation``
        (systemd-detect-virt), ``nvcc`` (--version), ``ofed`` (ofed_info -s), ``nccl`` (file name
        of the system's library), ``cuda_driver`` (as cuDriverGetVersion counts, 12040 for 12.4),
        ``gpus`` (nvidia-smi, see ``gpus``). What is missing is an empty text.
    :returns: ``cpu_model``, ``memory_mib``, ``os``, ``machine_id``, ``boot_id``, ``load`` (of one
        minute), ``gpus``; null where a node does not tell: ``cpu_governor``,
        ``tcp_congestion_control``, ``virtualisation``, ``cuda_driver``, ``cuda_toolkit``,
        ``nccl``, ``ofed``; ``gpu_settings``.
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
        "cuda_toolkit": _found(r"release [\d.]+, V([\d.]+)", texts.get("nvcc", "")),
        "nccl": _found(r"libnccl\.so\.([\d.]+)", texts.get("nccl", "")),
        "gpus": parse_gpus(texts.get("gpus", "")),
        "gpu_settings": parse_gpu_settings(texts.get("gpus", "")),
    }


def _virtualisation(detected: str, cpu_flags: str) -> Optional[str]:
    """Return systemd's word for it; without systemd, whether the CPU says that it is a guest's."""
    if detected.strip():
        return detected.strip()
    return "hypervisor" if "hypervisor" in cpu_flags.split() else None


def _cuda_driver(counted: str) -> Optional[str]:
    if not counted:
        return None
    # 1000 * major + 10 * minor: https://docs.nvidia.com/cuda/cuda-driver-api/
    return f"{int(counted) // 1000}.{int(counted) % 1000 // 10}"


def _found(pattern: str, text: str) -> Optional[str]:
    match = re.search(pattern, text)
    return match.group(1) if match else None


def _pairs(text: str, separator: str) -> Dict[str, str]:
    """Return the first value of each key of ``key<separator>value`` lines."""
    found: Dict[str, str] = {}
    for line in text.splitlines():
        key, mark, value = line.partition(separator)
        if mark:
            found.setdefault(key.strip(), value.strip())
    return found
