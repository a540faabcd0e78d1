"""The processor and the memory of this rank, and how glibc hands its memory back.

Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import contextlib
import ctypes
import platform
import resource
from pathlib import Path

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h of glibc


def processor_name():
    """Return the processor's name as Linux tells it, else the machine's."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def peak_resident_mib():
    """Return the most memory that this process had resident, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def keep_freed_memory():
    """Have glibc reuse the 100 MB of gradients that each step frees, not fault them in again."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 1 << 30)
        mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
