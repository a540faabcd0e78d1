"""The fingerprint of a node: hardware and software, parsed from files and tools of Linux."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, TypedDict

__all__ = [
    "GPU_QUERY",
    "SETTINGS_QUERY",
    "Fingerprint",
    "GpuRow",
    "fingerprint",
    "known",
    "parse_gpu_settings",
    "parse_gpus",
]

# Field names of nvidia-smi: `nvidia-smi --help-query-gpu`.
GPU_QUERY = ("index", "name", "memory.total", "driver_version", "uuid")
# Of a size that stays exact: digits of other scripts and hundreds of digits are no answer.
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")
# What nvidia-smi printed for one GPU, by field; None for a field that its driver does not know.
GpuRow = Mapping[str, Optional[str]]


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
    cpu_bfloat16: Optional[bool]  # whether it has instructions for it
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


def fingerprint(texts: Mapping[str, str], gpus: Sequence[GpuRow] = ()) -> Fingerprint:
    """Return the facts of one node.

    :param texts: the output of files and tools, by name: ``cpuinfo``, ``meminfo``, ``os_release``,
        ``machine_id``, ``boot_id``, ``loadavg``, ``governors`` (one line per frequency policy),
        ``congestion`` (net.ipv4.tcp_congestion_control), ``virtualisation``
        (systemd-detect-virt), ``nvcc`` (--version), ``ofed`` (ofed_info -s), ``nccl`` (file name
        of the system's library), ``cuda_driver`` (of cuDriverGetVersion, 12040 for 12.4). A
        missing text counts as empty.
    :param gpus: the fields of ``GPU_QUERY`` and ``SETTINGS_QUERY`` of each GPU.
    :raises ValueError: nvidia-smi printed something else.
    """
    cpus = _pairs(texts.get("cpuinfo", ""), ":")
    memory = _pairs(texts.get("meminfo", ""), ":").get("MemTotal", "")
    system = _pairs(texts.get("os_release", ""), "=")
    load = texts.get("loadavg", "").split()
    return {
        "cpu_model": cpus.get("model name") or cpus.get("Model") or "unknown",
        "cpu_governor": ", ".join(sorted(set(texts.get("governors", "").split()))) or None,
        "cpu_bfloat16": _bfloat16(cpus.get("flags") or cpus.get("Features", "")),
        "memory_mib": int(_number(memory.split(maxsplit=1)[0] if memory else "") or 0) // 1024,
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
        "gpus": parse_gpus(gpus),
        "gpu_settings": parse_gpu_settings(gpus),
    }


def _bfloat16(flags: str) -> Optional[bool]:
    """Return whether a CPU has instructions for bf16, by its flags of x86 or features of ARM.

    Where it has none oneDNN, by which PyTorch, TensorFlow and MXNet compute, emulates them with
    AVX-512, and hardly optimises without:
    https://uxlfoundation.github.io/oneDNN/dev_guide_data_types.html
    Without AVX-512 TensorFlow leaves oneDNN for Eigen (tensorflow/core/util/util.cc).
    """
    return not {"avx512_bf16", "amx_bf16", "bf16"}.isdisjoint(flags.split()) if flags else None


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


def known(text: Optional[str]) -> Optional[str]:
    """Return a value of nvidia-smi; None for ``N/A``, ``[N/A]``, ``[Not Supported]`` and others."""
    return None if text is None or text.startswith("[") or text == "N/A" else text


def _number(text: Optional[str]) -> Optional[float]:
    return float(text) if text and _NUMBER.fullmatch(text) else None


# Our key and the parser of each further field of the query. Clocks are in MHz, power in W.
_SETTINGS: Mapping[str, Tuple[str, Callable[[Optional[str]], Any]]] = {
    "clocks.applications.graphics": ("application_clock_mhz", _number),
    "clocks.applications.memory": ("application_memory_clock_mhz", _number),
    "clocks.max.graphics": ("maximum_clock_mhz", _number),
    "clocks.max.memory": ("maximum_memory_clock_mhz", _number),
    "power.limit": ("power_limit_watts", _number),
    "persistence_mode": ("persistence_mode", known),
    "ecc.mode.current": ("ecc_mode", known),
}
SETTINGS_QUERY = tuple(_SETTINGS)


def parse_gpus(rows: Sequence[GpuRow]) -> List[Gpu]:
    """Return the GPUs of a node.

    :param rows: with the fields of ``GPU_QUERY``.
    :raises ValueError: a row does not have these fields: nvidia-smi printed something else.
    """
    gpus: List[Gpu] = []
    for row in rows:
        index, name, driver, uuid = (
            row.get(field) for field in ("index", "name", "driver_version", "uuid")
        )
        if not (index and index.isdecimal() and name and driver and uuid):
            answer = ", ".join(value for value in row.values() if value)
            raise ValueError(f"nvidia-smi answered {answer!r}, not {', '.join(GPU_QUERY)}")
        mib = _number(row.get("memory.total"))
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


def parse_gpu_settings(rows: Sequence[GpuRow]) -> List[Dict[str, Any]]:
    """Return the settings of the GPUs, each with its ``index``; null where not reported.

    They are separate from :func:`parse_gpus`, whose result a resumed campaign compares: a changed
    power limit is reported, but does not make the node another one.

    :param rows: with the field ``index`` and those of ``SETTINGS_QUERY``.
    """
    return [
        {
            "index": int(row["index"] or 0),
            **{key: parse(row.get(field)) for field, (key, parse) in _SETTINGS.items()},
        }
        for row in rows
    ]
