"""Where one rank of a job stands among all, and that it ends with the process that started it.

Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from dataclasses import dataclass

PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True)
class Place:
    """This process among all: `rank` of `world_size`, `local_rank` of `local_size` on its node."""

    rank: int
    world_size: int
    local_rank: int
    local_size: int

    @property
    def nodes(self):
        """Return how many nodes the job has; every node has as many ranks."""
        return self.world_size // self.local_size

    def facts(self):
        """Return what the rank line says, the node named as the inventory names it."""
        host = socket.gethostname()
        node = os.environ.get("SCALEBENCH_NODE", host)
        return {
            "rank": self.rank,
            "local_rank": self.local_rank,
            "node": node,
            "host": host,
            "pid": os.getpid(),
        }


def end_with_parent():
    """Have the kernel end this process when the one that started it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
