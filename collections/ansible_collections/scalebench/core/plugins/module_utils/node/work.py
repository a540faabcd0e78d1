"""What runs on this node and must not lose its driver, network or container engine beneath it."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from typing import List, Set

from .processes import processes

__all__ = ["BUILT", "GPU_DEVICES", "STARTED", "containers", "gpu_users"]

# Labels of containers that provisioning starts, and of images that it builds.
STARTED, BUILT = "scalebench.start", "scalebench.built"

# Of the driver, one for each GPU. /dev/nvidiactl alone is opened by whatever looks for GPUs.
GPU_DEVICES = "/dev/nvidia[0-9]*"
# Daemons of the driver and its monitoring hold GPUs open and compute nothing: nvidia-persistenced,
# the fabric manager, DCGM's host engine and its exporter.
_DAEMONS = {"nvidia-persistenced", "nv-fabricmanager", "nv-hostengine", "dcgm-exporter"}
# Every container has one: containerd's (Docker, Kubernetes) is told the container's id, conmon
# (Podman, CRI-O) id and name. Read instead of asking engines, which may be many or not answer.
_MONITORS = re.compile(r"\S*/?(containerd-shim\S*|conmon)(?= |$)")
_NAMES = (re.compile(r" (?:-n|--name) (\S+)"), re.compile(r" (?:-id|-c|--cid) (\w{1,12})"))


def gpu_users(pattern: str = GPU_DEVICES) -> List[str]:
    """Return ``process <pid> (<command>) on a GPU`` of every process that has a GPU open.

    Root sees all of them, those in containers too, and also where nvidia-smi does not answer.

    :param pattern: of the GPUs' device files.
    """
    devices = set(glob.glob(pattern))
    users = [process for process in processes() if process.alive and _opened(process.pid) & devices]
    return [
        f"process {process.pid} ({process.command[:60]}) on a GPU"
        for process in sorted(users)
        if os.path.basename(process.command.split(" ")[0]) not in _DAEMONS
    ]


def containers() -> List[str]:
    """Return ``container <name or id>`` of every container that runs here, of any engine."""
    running = [process.command for process in sorted(processes()) if process.alive]
    return [_named(command) for command in running if _MONITORS.match(command)]


def _named(command: str) -> str:
    found = [match for match in (pattern.search(command) for pattern in _NAMES) if match]
    return f"container {found[0][1]}" if found else f"a container ({command[:60]})"


def _opened(pid: int) -> Set[str]:
    """Return the paths of the files that a process has open; none of one that has ended."""
    paths = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                paths.add(os.readlink(entry.path))
    return paths
