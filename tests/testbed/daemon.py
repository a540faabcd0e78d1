"""The Docker daemon: used if it runs, else started; stopped only if it was started here.

Several users at a time share it: each holds a lock until its process ends.
"""

from __future__ import annotations

import fcntl
import functools
import os
import signal
import subprocess
import time
from pathlib import Path

from . import machine
from .commands import TestbedError, run, say, succeeds
from .settings import ROOT

FOLDER = ROOT / ".state/testbed/daemon"
# Without these it would change the machine's firewall and forward packets; nodes need neither.
ARGUMENTS = ("--iptables=false", "--ip6tables=false", "--ip-forward=false", "--bridge=none")


def ensure(patience: float = 120.0) -> None:
    """Install the programs of a testbed and start a daemon if none runs.

    :raises TestbedError: no daemon runs and only root may start one, or it fails to start.
    """
    machine.install_programs()
    fcntl.flock(_lock(), fcntl.LOCK_SH)
    if succeeds("docker", "info"):
        return
    if os.geteuid() != 0:
        raise TestbedError("no Docker daemon answers, and only root may start one: see docker info")
    fcntl.flock(_lock(), fcntl.LOCK_EX)
    if not succeeds("docker", "info"):
        _start(patience)
    fcntl.flock(_lock(), fcntl.LOCK_SH)


@functools.cache
def _lock() -> int:
    """Return the lock of this process: shared by users, exclusive to start or stop the daemon."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    return os.open(FOLDER / "lock", os.O_CREAT | os.O_RDWR, 0o600)


def _start(patience: float) -> None:
    say("starting a Docker daemon")
    log = FOLDER / "log"
    with log.open("wb") as out:
        daemon = subprocess.Popen(
            ["dockerd", *ARGUMENTS, "--pidfile", str(FOLDER / "pid")],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    end = time.monotonic() + patience
    while not succeeds("docker", "info"):
        if daemon.poll() is not None or time.monotonic() > end:
            raise TestbedError(f"the Docker daemon does not start: see {log}")
        time.sleep(0.2)


def end(patience: float = 120.0) -> None:
    """Stop the daemon if it was started here, no other process uses it and no container is left."""
    pid = running_pid(FOLDER / "pid", "dockerd")
    try:
        fcntl.flock(_lock(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    if pid and not run("docker", "ps", "--quiet").strip():
        say("stopping the Docker daemon that was started here")
        os.kill(pid, signal.SIGTERM)
        # The next user must not take the daemon that is about to end for one that runs.
        until = time.monotonic() + patience
        while running_pid(FOLDER / "pid", "dockerd") == pid and time.monotonic() < until:
            time.sleep(0.1)


def running_pid(file: Path, program: str) -> int:
    """Return the process id in a file; 0 if that process has ended or runs another program."""
    try:
        pid = int(file.read_text())
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except (OSError, ValueError):
        return 0
    return pid if name == program else 0
