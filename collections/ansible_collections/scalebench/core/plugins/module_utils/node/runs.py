"""Find what earlier repeats left running on this node, by the mark in their environment."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Iterator, List, Optional, Tuple

from .ending import end_processes
from .proc import Process, environment, processes
from .supervise import RUN_VARIABLE

__all__ = ["attended", "busy_with", "end_strays", "marked"]

# Held by the supervisor as long as it lives; the kernel lets go of it when it dies.
_LOCK = "busy.lock"


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


@contextlib.contextmanager
def attended(work_dir: str, run: str) -> Iterator[None]:
    """Hold the node for ``run`` while the block runs.

    :raises ValueError: another repeat holds it, named.
    """
    os.makedirs(work_dir, exist_ok=True)
    with open(os.path.join(work_dir, _LOCK), "a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise ValueError(f"the node is busy with {lock.read()}") from None
        lock.truncate(0)
        lock.write(run)
        lock.flush()
        yield


def busy_with(work_dir: str) -> Optional[str]:
    """Return the run that a living supervisor holds the node for, None where it is free."""
    try:
        with open(os.path.join(work_dir, _LOCK), encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read() or "a repeat"
    except FileNotFoundError:
        pass
    return None
