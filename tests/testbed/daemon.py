"""Docker's daemon: used where it runs, started where it does not, ended only if we started it."""

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
    """Install the programs of a testbed and make sure that a daemon answers.

    :raises TestbedError: none runs and we may not start one, or it does not come up.
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
            raise TestbedError(f"the Docker daemon does not come up: see {log}")
        time.sleep(0.2)


def end() -> None:
    """End the daemon if it is ours and has no container left."""
    pid = running_pid(FOLDER / "pid", "dockerd")
    if pid and not run("docker", "ps", "--quiet").strip():
        say("ending the Docker daemon that was started here")
        os.kill(pid, signal.SIGTERM)


def running_pid(file: Path, program: str) -> int:
    """Return the process id in a file, 0 where that process is gone or another program's."""
    try:
        pid = int(file.read_text())
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except (OSError, ValueError):
        return 0
    return pid if name == program else 0
