"""Finds and reads log files on the controller, on all its cores where there are many."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils import logs
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import log_facts
from ansible_collections.scalebench.core.plugins.plugin_utils.files import (
    LEADS_OUTSIDE,
    NOT_UTF8,
    in_utf8,
    leads_outside,
    open_regular,
)

__all__ = ["files_below", "read_all", "read_facts"]

Expected = Callable[[bool], dict[str, Any]]
PIECE = 1 << 18
# Below this many logs the processes would take longer to start than the reading takes.
MANY = 60


def files_below(folder: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Return every file below a folder, relative to it, and what could not be looked into.

    The order is that of the names, folder by folder. Links to folders are followed, each folder
    once, but no link out of the folder: a log would be quoted on a page. Folders of version control
    are passed over.
    """
    paths: list[str] = []
    problems: list[dict[str, str]] = []
    seen: set[str] = set()

    def problem(error: OSError) -> None:
        path = os.path.relpath(error.filename, folder)
        problems.append({"path": path, "reason": error.strerror or str(error)})

    def inside(path: str) -> bool:
        if leads_outside(folder, path):
            problems.append({"path": os.path.relpath(path, folder), "reason": LEADS_OUTSIDE})
            return False
        return True

    for root, folders, names in os.walk(folder, onerror=problem, followlinks=True):
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if name not in (".git", ".hg", ".svn"))
        folders[:] = [name for name in folders if inside(os.path.join(root, name))]
        found = [os.path.join(root, name) for name in sorted(names)]
        paths += [os.path.relpath(path, folder) for path in found if inside(path)]
    shown = {path: in_utf8(path) for path in paths}
    problems += [{"path": shown[path], "reason": NOT_UTF8} for path in paths if shown[path] != path]
    return [path for path in paths if shown[path] == path], problems


def read_facts(
    path: Path,
    folder: Path,
    strategy: str,
    parameters: dict[str, Any],
    expected: Expected,
    reader: str = "auto",
    target_accuracy: float | None = None,
) -> dict[str, Any]:
    """Return the facts of one log.

    :param folder: that no link may lead out of.
    :param expected: whether one of our own trainers wrote the log -> the identity to expect, and to
        reckon with where the log does not state it.
    :param reader: a key of ``logs.READERS``, or ``auto``.
    :param target_accuracy: top-1 accuracy in percent to which the time is wanted.
    :raises ValueError: the file is no log; an unknown strategy or parameter.
    :raises OSError: it cannot be read.
    """
    with open_regular(path, folder) as file:
        pieces = iter(lambda: file.read(PIECE), b"")
        reading = logs.read(pieces, reader, path.name, known=expected(False))
    expect = expected(reading["own_trainer"])
    return log_facts(
        reading, strategy, parameters, expect, str(path), target_accuracy=target_accuracy
    )


def read_all(jobs: list[Any], read: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield ``read(job)`` of each job, in order; in processes of their own where there are many."""
    cores = len(os.sched_getaffinity(0))
    if len(jobs) < MANY or cores < 2:
        yield from map(read, jobs)
        return
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(min(cores, 16), mp_context=fork) as pool:
        yield from pool.map(read, jobs, chunksize=16)
