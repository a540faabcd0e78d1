"""Run calls at the same time, each in a process of its own below an Ansible worker."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.node.processes import (
    end_with_parent,
    read_process,
)

__all__ = ["end_with_playbook", "side_by_side"]

Result = dict[str, Any]


def side_by_side(calls: Mapping[str, Callable[[], Result]]) -> dict[str, Result]:
    """Return what each call returns, by its name; a single call runs in this process.

    Processes and no threads: a call may end all that is below its own process, and a connection
    plugin is made for one thread. The process of a call leads a group, as a worker does, so that
    the worker's handler of SIGTERM, which ends a group, works in it too; and it gets that signal
    when the worker dies.

    :raises RuntimeError: the process of a call died without a result.
    """
    if len(calls) == 1:
        return {name: call() for name, call in calls.items()}
    end_with_playbook()
    started = {name: _start(call) for name, call in calls.items()}
    return {name: _result_of(name, *child) for name, child in started.items()}


def end_with_playbook() -> None:
    """Have this worker, or a process of :func:`side_by_side` below it, end with ansible-playbook.

    :raises ProcessLookupError: it has ended, before the kernel could be asked for a signal.
    """
    end_with_parent()
    playbook, parent = multiprocessing.parent_process(), read_process(os.getppid())
    if playbook and (not parent or playbook.pid not in (parent.pid, parent.parent)):
        raise ProcessLookupError(f"ansible-playbook, process {playbook.pid}, has ended")


def _start(call: Callable[[], Result]) -> tuple[int, int]:
    """Return the pid of a new process that does the call, and the pipe for the result."""
    worker = os.getpid()
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    try:
        os.setpgid(0, 0)
        end_with_parent()
        if os.getppid() == worker:
            with os.fdopen(write, "w", encoding="utf-8") as pipe:
                json.dump(call(), pipe, default=str)
    finally:
        # Nothing of the worker's own may run here: neither its clean-up nor what called us.
        os._exit(0)


def _result_of(name: str, pid: int, read: int) -> Result:
    with os.fdopen(read, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    if not text:
        raise RuntimeError(f"{name}: the process that ran it died")
    result: Result = json.loads(text)
    return result
