"""End processes by pid: ask first, insist later, never touch one that took over a pid."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Callable, Dict, List, Tuple

from .proc import Process, read_process

__all__ = ["end_processes"]


def end_processes(find: Callable[[], List[Process]], grace: float = 5.0) -> List[Process]:
    """End what ``find`` returns, and what it returns later, until it returns nothing.

    :param find: the living processes to end, looked up anew at every call.
    :param grace: seconds between SIGTERM and SIGKILL.
    :returns: every process that was signalled.
    :raises ValueError: a process survives SIGKILL for ``grace`` more seconds (uninterruptible).
    """
    signalled: Dict[Tuple[int, int], Process] = {}
    start = time.monotonic()
    nothing = 0
    while True:
        left = find()
        # One that was forked while the last look was on, by one that ended meanwhile, is seen in
        # the next.
        nothing = 0 if left else nothing + 1
        if nothing > bool(signalled):
            return list(signalled.values())
        waited = time.monotonic() - start
        if left and waited > 2 * grace:
            names = ", ".join(f"{process.pid} ({process.command})" for process in left)
            raise ValueError(f"still alive {grace:.0f} s after SIGKILL: {names}")
        for process in left:
            asked = (process.pid, process.start) in signalled
            if not asked or waited > grace:
                _signal(process, signal.SIGKILL if waited > grace else signal.SIGTERM)
                signalled[process.pid, process.start] = process
        time.sleep(0.05)


def _signal(process: Process, number: int) -> None:
    """Signal the process if its pid is still its own."""
    now = read_process(process.pid)
    if now is not None and now.start == process.start:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
