#!/usr/bin/env python3
"""Start several processes of a job on this node, and end all of them when one fails.

Each argument is a JSON object: ``name``, ``argv``, ``environment``, and ``serves`` for one that
only serves the others and may be ended once they are done. Standard library only and runs on
Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

GRACE = 5  # seconds between asking a process to end and ending it
SERVED = 30  # seconds that servers have to end by themselves once nobody needs them


class EndedError(Exception):
    """Somebody asked this process to end."""


def main():
    """Start them and wait; return the exit status."""
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
    """Leave by the way that ends the processes."""
    raise EndedError


def start(described):
    """Start one process; what it prints goes where this one's output goes."""
    return subprocess.Popen(
        described["argv"],
        stdin=subprocess.DEVNULL,
        env={**os.environ, **described["environment"]},
    )


def wait(running):
    """Wait until all that do not only serve have ended, or one has failed.

    :param running: by name the process and whether it only serves.
    """
    served_until = None
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
            served_until = served_until or time.monotonic() + SERVED
            if time.monotonic() > served_until:
                return 0
        time.sleep(0.1)


def finish(processes):
    """Ask all that still run to end, and insist after a while."""
    left = [process for process in processes if process.poll() is None]
    for process in left:
        process.terminate()
    until = time.monotonic() + GRACE
    for process in left:
        try:
            process.wait(max(0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
