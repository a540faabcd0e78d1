"""One rank of a job: its place among all, and what it needs of its host."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import resource
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

# The variables that state a Place, as torchrun and our launcher of the key-value store set them.
PLACE_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
ROW_BYTES = 512
PR_SET_PDEATHSIG = 1  # linux/prctl.h
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h of glibc


@dataclass(frozen=True)
class Place:
    """This process among all: `rank` of `world_size`, `local_rank` of `local_size` on its node."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_size: int = 1

    @property
    def nodes(self):
        """Return the number of nodes; every node has the same number of ranks."""
        return self.world_size // self.local_size

    def facts(self):
        """Return what the rank line states, with the node's name in the inventory."""
        host = socket.gethostname()
        node = os.environ.get("SCALEBENCH_NODE", host)
        return {
            "rank": self.rank,
            "local_rank": self.local_rank,
            "node": node,
            "host": host,
            "pid": os.getpid(),
        }


def has_code_for(capability, architectures):
    """Return whether GPU code of a library runs on a device; true where the library tells none.

    Binaries (``sm_86``) run on devices of their major capability whose minor is not lower, PTX
    (``compute_90``) on all later devices, and code with the suffix ``a`` on its own capability
    alone (CUDA C++ Programming Guide, section on binary and PTX compatibility).

    :param capability: major and minor compute capability of the device.
    :param architectures: of the library's code, as ``torch.cuda.get_arch_list`` returns them.
    """
    return not architectures or any(_runs_on(capability, code) for code in architectures)


def _runs_on(capability, architecture):
    kind, _, version = architecture.partition("_")
    major, minor = divmod(int(version.rstrip("af")), 10)
    if version.endswith("a"):
        return tuple(capability) == (major, minor)
    if kind == "compute":
        return tuple(capability) >= (major, minor)
    return capability[0] == major and capability[1] >= minor


def place_from(environment, variables=PLACE_VARIABLES):
    """Return the :class:`Place` that a launcher states in four variables; unset: a single rank."""
    defaults = (0, 1, 0, 1)
    return Place(*(int(environment.get(*pair)) for pair in zip(variables, defaults)))


def end_with_parent():
    """Have the kernel end this process when its parent dies, even by SIGKILL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def to_row(value):
    """Return a JSON value as a row of :data:`ROW_BYTES` bytes, for a framework that gathers arrays.

    :raises ValueError: if it is longer.
    """
    text = json.dumps(value).encode()
    if len(text) > ROW_BYTES:
        raise ValueError(f"{len(text)} bytes do not fit in {ROW_BYTES}: {value}")
    return text.ljust(ROW_BYTES)


def from_row(row):
    """Return the JSON value of a row of :func:`to_row`, given as a NumPy array of bytes."""
    return json.loads(row.tobytes().decode())


def processor_name():
    """Return the processor's model name, else the machine's architecture."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def peak_resident_mib():
    """Return the peak resident memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def keep_freed_memory():
    """Have glibc reuse the memory that each step frees (100 MB of gradients), not unmap it."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 1 << 30)
        mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
