"""The runs of repeats on this node: who holds it, and processes that an earlier run left.

Processes of a run are recognised by ``RUN_VARIABLE`` in their environment.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import glob
import os
import time
import zlib
from typing import Iterator, List, Optional, Sequence, Set, TextIO, Tuple

from .processes import (
    RUN_VARIABLE,
    Process,
    end_processes,
    environment,
    processes,
    with_command,
)

__all__ = [
    "attended",
    "busy_with",
    "end_strays",
    "has_ended",
    "lock_file",
    "marked",
    "packed",
    "unpacked",
]

# Locked by the supervisor; the kernel releases the lock when the process ends. A run on some of the
# devices shares the lock of the node and holds those of its devices, numbered by index.
_LOCK = "busy.lock"
_DEVICE_LOCK = "busy.{}.lock"
# Seconds to wait for a lock: another process that tests it holds it for a moment.
_PATIENCE = 0.5
# A log of up to so many bytes goes with a run's answer.
_MOST_PACKED = 1 << 20


def marked(work_dir: str) -> List[Tuple[Process, str]]:
    """Return every living process that a repeat below ``work_dir`` started, with its run."""
    prefix = work_dir.rstrip("/") + "/"
    result = []
    for process in processes(commands=False):
        if process.alive and process.pid != os.getpid():
            run = environment(process).get(RUN_VARIABLE, "")
            found = with_command(process) if run.startswith(prefix) else None
            if found:
                result.append((found, run))
    return result


def end_strays(work_dir: str, own: str = "") -> List[Process]:
    """End the processes of runs without a supervisor; return those that were signalled.

    :param own: the run that the caller supervises and has not started yet: processes with its name
        are left over from an earlier attempt.
    :raises ValueError: a process does not end.
    """

    def strays() -> List[Process]:
        # Processes first: a repeat takes its locks before it starts any.
        candidates = marked(work_dir)
        attended_runs = _held_by(work_dir) - {own}
        return [process for process, run in candidates if run not in attended_runs]

    return end_processes(strays)


@contextlib.contextmanager
def attended(work_dir: str, run: str, devices: Sequence[int] = ()) -> Iterator[None]:
    """Hold the node, or some of its devices, for ``run`` while the block runs.

    :param devices: their indexes on the node; none for the whole node.
    :raises ValueError: another repeat holds it; the message names its run.
    """
    os.makedirs(work_dir, exist_ok=True)
    with contextlib.ExitStack() as locks:
        if devices:
            _take(locks, work_dir, _LOCK, fcntl.LOCK_SH)
        names = [_DEVICE_LOCK.format(index) for index in sorted(devices)] or [_LOCK]
        for name in names:
            lock = _take(locks, work_dir, name, fcntl.LOCK_EX)
            lock.truncate(0)
            lock.write(run)
            lock.flush()
        yield


def lock_file(lock: TextIO, kind: int, patience: float) -> bool:
    """Lock a file; return whether it could be within some seconds.

    :param kind: as of fcntl.flock.
    """
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
        time.sleep(0.02)


def _take(locks: contextlib.ExitStack, work_dir: str, name: str, kind: int) -> TextIO:
    # Never through a link: what it leads to would be emptied.
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    opened = os.open(os.path.join(work_dir, name), flags, 0o666)
    lock = locks.enter_context(os.fdopen(opened, "a+", encoding="utf-8"))
    if not lock_file(lock, kind, _PATIENCE):
        # Whoever may read the file can lock it.
        holder = busy_with(work_dir) or f"a process that holds {os.path.join(work_dir, name)}"
        raise ValueError(f"the node is busy with {holder}")
    return lock


def busy_with(work_dir: str) -> Optional[str]:
    """Return the runs for which supervisors hold the node, separated by commas; None if free."""
    return ", ".join(sorted(_held_by(work_dir))) or None


def has_ended(work_dir: str, run: str, patience: float) -> bool:
    """Wait at most ``patience`` seconds for the end of ``run``; return whether it has ended."""
    end = time.monotonic() + patience
    while run in _held_by(work_dir):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def packed(log: str) -> Optional[str]:
    """Return the content of a log as text for an answer of JSON; None if it is large.

    Fetching it costs another command on the node, and a new process of the carrier's program.
    """
    with open(log, "rb") as file:
        content = file.read(_MOST_PACKED + 1)
    if len(content) > _MOST_PACKED:
        return None
    return base64.b64encode(zlib.compress(content)).decode("ascii")


def unpacked(text: str) -> Optional[bytes]:
    """Return the content of a log that was ``packed``; None if it is damaged or too large."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(base64.b64decode(text, validate=True), _MOST_PACKED)
    except (ValueError, zlib.error):
        return None
    return content if unpacking.eof else None


def _held_by(work_dir: str) -> Set[str]:
    """Return the runs that have a supervisor now."""
    held = set()
    for path in glob.glob(os.path.join(glob.escape(work_dir), _DEVICE_LOCK.format("*"))):
        held.add(_holder(path))
    held.add(_holder(os.path.join(work_dir, _LOCK)))
    return held - {""}


def _holder(path: str) -> str:
    """Return the run for which a lock is held exclusively; empty if it is not."""
    try:
        with open(path, encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read() or "a repeat"
    except FileNotFoundError:
        pass
    return ""
