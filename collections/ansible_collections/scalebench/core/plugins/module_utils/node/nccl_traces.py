"""The files in which NCCL's ranks tell how they are connected, one for each.

Only training_run needs them, and with them the readers of logs: they are apart from ``node.runs``,
which many modules carry to a node.
"""

from __future__ import annotations

import glob
import os
from typing import Dict, List, Mapping

from ..logs.nccl import transports

__all__ = ["transports_in", "with_trace"]


def with_trace(environment: Mapping[str, str], folder: str) -> Dict[str, str]:
    """Return the environment with a file for NCCL's lines, if they are asked for without one.

    On standard output they would be part of the training's log.
    """
    made = dict(environment)
    if "NCCL_DEBUG" in made:
        # %h and %p are host and process (NCCL_DEBUG_FILE in NCCL's documentation).
        place = os.path.join(folder.replace("%", "%%"), "nccl.%h.%p.log")
        made.setdefault("NCCL_DEBUG_FILE", place)
    return made


def transports_in(folder: str) -> List[str]:
    """Return the transports of all ranks that left a trace in the folder."""
    lines: List[str] = []
    for path in glob.glob(os.path.join(glob.escape(folder), "nccl.*.log")):
        with open(path, encoding="utf-8", errors="replace") as file:
            lines += file
    return transports(lines)
