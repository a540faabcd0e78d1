"""Find what earlier repeats left running on this node, by the mark in their environment."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import time
from typing import Iterator, List, Optional, Sequence, Set, TextIO, Tuple

from .processes import Process, end_processes, environment, processes
from .supervise import RUN_VARIABLE

__all__ = ["attended", "busy_with", "end_strays", "has_ended", "marked"]

# Held by the supervisor as long as it lives; the kernel lets go of it when it dies. Who takes some
# devices alone shares the node's and holds theirs, named after their places.
_LOCK = "busy.lock"
_DEVICE_LOCK = "busy.{}.lock"
# Seconds; to see whether a lock is held is to hold it for a moment.
_PATIENCE = 0.5


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


def end_strays(work_dir: str, own: str = "") -> List[Process]:
    """End every process that ``marked`` finds and nobody attends; return those that were signalled.

    :param own: the run that the caller attends and has not started yet: what bears its name is of
        an earlier attempt.
    :raises ValueError: one of them does not end.
    """

    def strays() -> List[Process]:
        # In this order: a repeat holds its locks before it starts anything.
        found = marked(work_dir)
        attended_runs = _held_by(work_dir) - {own}
        return [process for process, run in found if run not in attended_runs]

    return end_processes(strays)


@contextlib.contextmanager
def attended(work_dir: str, run: str, devices: Sequence[int] = ()) -> Iterator[None]:
    """Hold the node, or only some of its devices, for ``run`` while the block runs.

    :param devices: their places on the node; none for the whole node.
    :raises ValueError: another repeat holds it, named.
    """
    os.makedirs(work_dir, exist_ok=True)
    with contextlib.ExitStack() as locks:
        if devices:
            _take(locks, work_dir, _LOCK, fcntl.LOCK_SH)
        names = [_DEVICE_LOCK.format(place) for place in sorted(devices)] or [_LOCK]
        for name in names:
            lock = _take(locks, work_dir, name, fcntl.LOCK_EX)
            lock.truncate(0)
            lock.write(run)
            lock.flush()
        yield


def _take(locks: contextlib.ExitStack, work_dir: str, name: str, kind: int) -> TextIO:
    path = os.path.join(work_dir, name)
    lock = locks.enter_context(open(path, "a+", encoding="utf-8"))  # noqa: SIM115 - the stack closes it
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() > end:
                raise ValueError(f"the node is busy with {busy_with(work_dir)}") from None
        time.sleep(0.02)


def busy_with(work_dir: str) -> Optional[str]:
    """Return the runs that living supervisors hold the node for, None where it is free."""
    return ", ".join(sorted(_held_by(work_dir))) or None


def has_ended(work_dir: str, run: str, patience: float) -> bool:
    """Wait until nobody attends ``run``; return False where it is so still after ``patience`` s."""
    end = time.monotonic() + patience
    while run in _held_by(work_dir):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def _held_by(work_dir: str) -> Set[str]:
    """Return the runs that are attended now."""
    held = set()
    for path in glob.glob(os.path.join(glob.escape(work_dir), _DEVICE_LOCK.format("*"))):
        held.add(_holder(path))
    held.add(_holder(os.path.join(work_dir, _LOCK)))
    return held - {""}


def _holder(path: str) -> str:
    """Return the run for which a lock is held exclusively, empty where it is not."""
    try:
        with open(path, encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read() or "a repeat"
    except FileNotFoundError:
        pass
    return ""
