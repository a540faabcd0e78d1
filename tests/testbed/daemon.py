"""The Docker daemon: used if it runs, else started; stopped only if it was started here."""

from __future__ import annotations

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


def ensure(patience: float = 30.0) -> None:
    """Install the programs of a testbed and start a daemon if none runs.

    :raises TestbedError: no daemon runs and only root may start one, or it fails to start.
    """
    machine.install_programs()
    if succeeds("docker", "info"):
        return
    if os.geteuid() != 0:
        raise TestbedError("no Docker daemon answers, and only root may start one: see docker info")
    say("starting a Docker daemon")
    FOLDER.mkdir(parents=True, exist_ok=True)
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


def end() -> None:
    """Stop the daemon if it was started here and no container is left."""
    pid = running_pid(FOLDER / "pid", "dockerd")
    if pid and not run("docker", "ps", "--quiet").strip():
        say("stopping the Docker daemon that was started here")
        os.kill(pid, signal.SIGTERM)


def running_pid(file: Path, program: str) -> int:
    """Return the process id in a file; 0 if that process has ended or runs another program."""
    try:
        pid = int(file.read_text())
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except (OSError, ValueError):
        return 0
    return pid if name == program else 0
