"""Slurm on a testbed: a login node with slurmctld, and slurmd on the four nodes.

The packages are part of an image of their own. The user ``alice`` has no sudo, logs in on the login
node only, and has her home folder in /shared.
"""

from __future__ import annotations

import base64
import os
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import nodes
from .commands import TestbedError, run, succeeds
from .settings import LOGIN, Settings

FILES = Path(__file__).parent / "slurm_files"
ACCOUNTING = f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost={LOGIN}"


def set_up(config: Settings, fresh: set[str]) -> None:
    """Make fresh nodes part of Slurm, the login node first; wait until all four are idle.

    :raises TestbedError: a node does not become idle in time; with Slurm's reason.
    """
    if LOGIN in fresh:
        _set_up(config, LOGIN)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: _set_up(config, name), sorted(fresh - {LOGIN})))
    _wait(config)


def _set_up(config: Settings, name: str) -> None:
    role = "login" if name == LOGIN else "node"
    container = nodes.container(config, name)
    run("docker", "cp", "-", f"{container}:/", stdin=nodes.archive(files(config, role)))
    accounting = "yes" if config.accounting else "no"
    run("docker", "exec", container, "sh", "/etc/slurm/set-up", role, accounting)


def files(config: Settings, role: str) -> dict[str, tuple[int, str]]:
    """Return mode and text of the files of a node by path."""
    addresses = {LOGIN: config.login, **config.nodes}
    values = {
        "login": config.login,
        "cpus": str(os.cpu_count()),
        "accounting": ACCOUNTING if config.accounting else "",
        "nodes": "\n".join(f"NodeName={name} NodeAddr={a}" for name, a in config.nodes.items()),
    }
    text = (FILES / "slurm.conf").read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    found = {
        "etc/slurm/slurm.conf": (0o644, text),
        "etc/slurm/cgroup.conf": (0o644, (FILES / "cgroup.conf").read_text()),
        "etc/slurm/mpi.conf": (0o644, (FILES / "mpi.conf").read_text()),
        "etc/slurm/set-up": (0o755, (FILES / "set-up").read_text()),
        "etc/slurm/hosts": (0o644, "".join(f"{a} {name}\n" for name, a in addresses.items())),
        "etc/munge/munge.key": (0o400, _munge_key(config)),
    }
    if role == "login" and config.accounting:
        found["etc/slurm/slurmdbd.conf"] = (0o600, (FILES / "slurmdbd.conf").read_text())
    return found


def _munge_key(config: Settings) -> str:
    """Return the secret with which this testbed's nodes trust each other."""
    path = config.state / "munge.key"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(base64.b64encode(secrets.token_bytes(96)).decode())
    return path.read_text()


def _wait(config: Settings, patience: float = 180.0) -> None:
    login = nodes.container(config, LOGIN)
    count = len(config.nodes)
    end = time.monotonic() + patience
    while not succeeds(
        "docker", "exec", login, "srun", f"-N{count}", "--immediate=2", "-t1", "true"
    ):
        if time.monotonic() > end:
            said = run("docker", "exec", login, "sh", "-c", "sinfo -lN 2>&1; sinfo -R 2>&1; true")
            raise TestbedError(f"Slurm does not start a step on {count} nodes:\n{said}")
        time.sleep(0.3)
