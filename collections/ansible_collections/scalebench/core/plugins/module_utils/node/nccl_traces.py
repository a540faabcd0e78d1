"""The files in which NCCL's ranks tell how they are connected, one for each."""

from __future__ import annotations

import glob
import os
from typing import List

from ..telemetry.nccl import transports

__all__ = ["transports_in"]


def transports_in(folder: str) -> List[str]:
    """Return the transports of all ranks that left a trace in the folder."""
    lines: List[str] = []
    for path in glob.glob(os.path.join(glob.escape(folder), "nccl.*.log")):
        with open(path, encoding="utf-8", errors="replace") as file:
            lines += file
    return transports(lines)
