"""What runs on this node: on its GPUs, in containers, and the daemon that keeps its clock."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import re
from typing import Dict, List, Set, Union

from .processes import processes

__all__ = ["BUILT", "GPU_DEVICES", "STARTED", "clock_state", "containers", "gpu_users"]

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
# Daemons that set the clock, by their programs: chrony, systemd, ntp and ntpsec and OpenNTPD, PTP.
_KEEPERS = ("chronyd", "systemd-timesyncd", "ntpd", "phc2sys")
# adjtimex(2): what it returns for a clock that is not synchronised.
_TIME_ERROR = 5
# Larger than struct timex on any machine; with modes 0, its first member, it is only filled.
_TIMEX_BYTES = 512


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


def clock_state() -> Dict[str, Union[str, bool]]:
    """Return ``keeper``, the daemon that sets the clock (empty without one), and ``synchronised``.

    The kernel tells the latter whichever daemon sets it; in a container it is that of the host.
    """
    commands = [process.command for process in processes() if process.alive]
    running = {os.path.basename(command.split(" ")[0].rstrip(":")) for command in commands}
    keepers = [name for name in _KEEPERS if name in running]
    asked = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    return {"keeper": keepers[0] if keepers else "", "synchronised": 0 <= asked < _TIME_ERROR}
