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


def main():
    """Start the processes and wait for them; return the exit status."""
    signals = []
    # An exception out of the start of a process would leave it unknown here, and running.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _: signals.append(received))
    running = {}
    try:
        for described in map(json.loads, sys.argv[1:]):
            if not signals:
                running[described["name"]] = (start(described), described.get("serves", False))
        return wait(running, signals)
    finally:
        finish([process for process, _ in running.values()])


def start(described):
    """Start one process; it inherits the output of this one."""
    return subprocess.Popen(
        described["argv"],
        stdin=subprocess.DEVNULL,
        env={**os.environ, **described["environment"]},
    )


def wait(running, signals):
    """Wait until all but the servers have ended, a process has failed, or a signal has come.

    :param running: by name, the process and whether it is a server.
    :param signals: receives the signals to end.
    """
    servers_until = None
    while not signals:
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
    return 1


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
