#!/usr/bin/env python3
"""Start several processes of a job on this node, and end all of them when one fails.

Each argument is a JSON object: ``name``, ``argv``, ``environment``, and ``serves`` for a server,
which may be ended once the others are done. Standard library only; runs on Python 3.7, which the
oldest frameworks need.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

GRACE = 5  # seconds between SIGTERM and SIGKILL
SERVER_GRACE = 30  # seconds that servers have to end by themselves after the others


class EndedError(Exception):
    """This process received a signal to end."""


def main():
    """Start the processes and wait for them; return the exit status."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    running = {}
    try:
        for described in map(json.loads, sys.argv[1:]):
            running[described["name"]] = (start(described), described.get("serves", False))
        return wait(running)
    except EndedError:
        return 1
    finally:
        finish([process for process, _ in running.values()])


def end(_number, _frame):
    """Raise the exception that ends the processes."""
    raise EndedError


def start(described):
    """Start one process; it inherits the output of this one."""
    return subprocess.Popen(
        described["argv"],
        stdin=subprocess.DEVNULL,
        env={**os.environ, **described["environment"]},
    )


def wait(running):
    """Wait until all but the servers have ended, or a process has failed.

    :param running: by name, the process and whether it is a server.
    """
    servers_until = None
    while True:
        states = {name: process.poll() for name, (process, _) in running.items()}
        for name, status in states.items():
            if status:
                how = f"ended by signal {-status}" if status < 0 else f"exit code {status}"
                print(f"launch error: {name} on this node failed: {how}", flush=True)
                return 1
        left = [name for name, status in states.items() if status is None]
        if not left:
            return 0
        if all(running[name][1] for name in left):
            servers_until = servers_until or time.monotonic() + SERVER_GRACE
            if time.monotonic() > servers_until:
                return 0
        time.sleep(0.1)


def finish(processes):
    """End all that still run, by SIGKILL after a while; one that hangs in the kernel goes on."""
    left = [process for process in processes if process.poll() is None]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in left:
            process.send_signal(number)
        until = time.monotonic() + GRACE
        for process in left:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0, until - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
