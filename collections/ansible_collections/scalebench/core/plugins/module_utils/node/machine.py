"""Input of the node's fingerprint: files of /proc and /sys, output of tools, trainers' files."""

from __future__ import annotations

import ctypes
import glob
import hashlib
import os
import shutil
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

from .programs import run_program

__all__ = ["cores", "cpu_quota", "devices", "digest", "digests", "texts"]

FILES = {
    "cpuinfo": "/proc/cpuinfo",
    "meminfo": "/proc/meminfo",
    "loadavg": "/proc/loadavg",
    "os_release": "/etc/os-release",
    "machine_id": "/etc/machine-id",
    "boot_id": "/proc/sys/kernel/random/boot_id",
    "congestion": "/proc/sys/net/ipv4/tcp_congestion_control",
}
TOOLS = {
    "virtualisation": ("systemd-detect-virt",),
    "nvcc": ("nvcc", "--version"),
    "ofed": ("ofed_info", "-s"),
}
GOVERNORS = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
NCCL_LIBRARIES = ("/usr/lib/*/libnccl.so.2.*", "/usr/lib64/libnccl.so.2.*")
# Not on the PATH of a non-interactive ssh login.
CUDA_PROGRAMS = "/usr/local/cuda/bin"
# Enough to tell two versions of a file apart.
_DIGITS = 16
# What a training leaves among its files.
_CACHE = "__pycache__"
PATIENCE_SECONDS = 10


def texts() -> Dict[str, str]:
    """Return the texts for ``fingerprint.fingerprint``; empty for what does not exist."""
    libraries = [path for pattern in NCCL_LIBRARIES for path in sorted(glob.glob(pattern))]
    return {
        **{name: _read(path) for name, path in FILES.items()},
        **{name: _output(command) for name, command in TOOLS.items()},
        "governors": "".join(_read(path) for path in glob.glob(GOVERNORS)),
        "nccl": os.path.basename(libraries[-1]) if libraries else "",
        "cuda_driver": _cuda_driver(),
    }


def cores(root: str = "") -> int:
    """Return how many cores this process may use, by its affinity and the CPU quotas over it.

    :param root: the folder that has ``proc`` and ``sys``.
    """
    quotas = [count for count, _folder in _quotas(root)]
    return max(1, min([len(os.sched_getaffinity(0)), *quotas]))


def cpu_quota(root: str = "") -> Optional[Dict[str, int]]:
    """Return what leaves this process fewer cores than its affinity; None where nothing does.

    :param root: as of :func:`cores`.
    :returns: ``cgroup``, by whose number containers on one machine tell whether they share the
        quota, and ``allowed``, the cores of the affinity.
    """
    allowed = len(os.sched_getaffinity(0))
    # Of equal ones the outermost, which more processes share.
    count, folder = min(_quotas(root), key=lambda one: one[0], default=(allowed, ""))
    return {"cgroup": os.stat(folder).st_ino, "allowed": allowed} if count < allowed else None


def _quotas(root: str) -> Iterator[Tuple[int, str]]:
    """Yield the CPU quota of each cgroup that this process is in, in whole cores, and its folder.

    Files: Linux, Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst.
    """
    for line in _read(f"{root}/proc/self/cgroup").splitlines():
        _number, controllers, path = line.split(":", 2)
        if "cpu" not in (controllers or "cpu").split(","):
            continue
        folder = top = f"{root}/sys/fs/cgroup"
        if controllers:
            # Not all have a link cpu to it, nor is the order of the names that of the line.
            beside = (os.path.basename(path) for path in sorted(glob.glob(f"{top}/*cpu*")))
            folder += "/" + next((name for name in beside if "cpu" in name.split(",")), "cpu")
        # A container has its own at the top, where version 1 tells the path on the host.
        for name in ["", *path.split("/")]:
            folder = os.path.join(folder, name)
            both = _read(f"{folder}/cpu.max") or " ".join(
                _read(f"{folder}/cpu.cfs_{word}_us") for word in ("quota", "period")
            )
            # "max" or -1 where there is none.
            quota, period = (*both.split(), "", "")[:2]
            if quota.isdigit() and period.isdigit():
                yield int(quota) // int(period), folder


def devices() -> Dict[str, Any]:
    """Return ``numa_nodes`` (their CPUs), ``interfaces`` that are not down, and ``infiniband``.

    MTU is in bytes, speed in Mbit/s, the rate of an InfiniBand port as the driver prints it; None
    where not reported.
    """
    return {
        "numa_nodes": {
            os.path.basename(path)[len("node") :]: _line(f"{path}/cpulist")
            for path in sorted(glob.glob("/sys/devices/system/node/node[0-9]*"))
        },
        "interfaces": {
            os.path.basename(path): {
                "mtu": _integer(f"{path}/mtu"),
                "speed_mbit": _integer(f"{path}/speed"),
            }
            for path in sorted(glob.glob("/sys/class/net/*"))
            if _line(f"{path}/operstate") in ("up", "unknown")
        },
        "infiniband": {
            os.path.basename(path): {
                "type": _line(f"{path}/hca_type"),
                "board": _line(f"{path}/board_id"),
                "firmware": _line(f"{path}/fw_ver"),
                "ports": {
                    os.path.basename(port): {
                        name: _line(f"{port}/{name}") for name in ("rate", "state", "link_layer")
                    }
                    for port in sorted(glob.glob(f"{path}/ports/*"))
                },
            }
            for path in sorted(glob.glob("/sys/class/infiniband/*"))
        },
    }


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _line(path: str) -> Optional[str]:
    return _read(path).strip() or None


def _integer(path: str) -> Optional[int]:
    # The speed of an interface without one is -1.
    text = _read(path).strip()
    return int(text) if text.isdigit() else None


def _output(command: Sequence[str]) -> str:
    """Return the output of a tool, whatever its exit code; empty if it is not installed or hangs.

    systemd-detect-virt prints ``none`` and exits with 1 on bare metal.
    """
    program = shutil.which(command[0], path=f"{os.environ.get('PATH', '')}:{CUDA_PROGRAMS}")
    if program is None:
        return ""
    try:
        return run_program([program, *command[1:]], PATIENCE_SECONDS).stdout
    except ValueError:
        return ""


def _cuda_driver() -> str:
    """Return the code of the driver's CUDA version, which needs no GPU; empty without a driver."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ""
    version = ctypes.c_int()
    return "" if library.cuDriverGetVersion(ctypes.byref(version)) else str(version.value)


def digest(content: bytes) -> str:
    """Return the beginning of the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


def digests(folder: str) -> Dict[str, str]:
    """Return the beginning of the SHA-256 of each file by its path; none of a missing folder.

    :raises OSError: a file cannot be read.
    """
    found = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != _CACHE]
        for name in names:
            path = os.path.join(parent, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = digest(file.read())
    return dict(sorted(found.items()))
