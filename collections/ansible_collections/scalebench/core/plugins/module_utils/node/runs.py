"""Find what earlier repeats left running on this node, by the mark in their environment."""

from __future__ import annotations

import os
from typing import List, Tuple

from .ending import end_processes
from .proc import Process, environment, processes
from .supervise import RUN_VARIABLE

__all__ = ["end_strays", "marked"]


def marked(work_dir: str) -> List[Tuple[Process, str]]:
    """Return every living process that a repeat below ``work_dir`` started, with its run."""
    prefix = work_dir.rstrip("/") + "/"
    found = []
    for process in processes():
        if process.alive and process.pid != os.getpid():
            run = environment(process.pid).get(RUN_VARIABLE, "")
            if run.startswith(prefix):
                found.append((process, run))
    return found


def end_strays(work_dir: str) -> List[Process]:
    """End every process that ``marked`` finds; return those that were signalled.

    :raises ValueError: one of them does not end.
    """
    return end_processes(lambda: [process for process, _ in marked(work_dir)])
