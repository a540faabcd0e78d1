"""Settings of a testbed, and the environment variables that change them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from .commands import TestbedError

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ("bookworm", "trixie")
# Packages of a freshly installed server, and Open MPI, which is large and not installed by a role.
PACKAGES = (
    "ca-certificates",
    "dbus",
    "iproute2",
    "kmod",
    "libpam-systemd",
    "openmpi-bin",
    "openssh-server",
    "procps",
    "python3",
    "python3-apt",
    "python3-venv",
    "sudo",
    "systemd",
    "systemd-sysv",
)
# The packages that "scripts/testbed up NAME" adds to the image of all nodes. Slurm loads PMIx by a
# name without a version, which only libpmix-dev has.
_SLURM = ("libpmix-dev", "munge", "slurm-client", "slurmctld", "slurmd")
ADDITIONS = {"slurm": _SLURM, "slurm-accounting": (*_SLURM, "mariadb-server", "slurmdbd")}
LOGIN = "login"


@dataclass(frozen=True)
class Settings:
    """One testbed, identified by its network.

    :param prefix: the first three numbers of its addresses: node 1 is ``<prefix>.2``.
    :param release: Debian release of the nodes.
    :param addition: one of ADDITIONS, or "" for plain nodes.
    """

    prefix: str
    release: str
    addition: str = ""

    @property
    def packages(self) -> tuple[str, ...]:
        """Return the packages of the nodes' image."""
        return (*PACKAGES, *ADDITIONS.get(self.addition, ()))

    @property
    def accounting(self) -> bool:
        """Return whether Slurm has a database of its jobs, so that sacct answers."""
        return self.addition == "slurm-accounting"

    @property
    def login(self) -> str:
        """Return the address of the login node, which only a testbed with Slurm has."""
        return f"{self.prefix}.9"

    @property
    def network(self) -> str:
        """Return the name of the Docker network and prefix of the containers' names."""
        return f"scalebench-{self.prefix}"

    @property
    def gateway(self) -> str:
        """Return this machine's address on the network."""
        return f"{self.prefix}.254"

    @property
    def state(self) -> Path:
        """Return the folder for keys, pids and logs."""
        return ROOT / ".state/testbed" / self.prefix

    @property
    def nodes(self) -> dict[str, str]:
        """Return the addresses of the four nodes by name."""
        return self.first(4)

    def first(self, count: int) -> dict[str, str]:
        """Return the addresses of the first ``count`` nodes by name."""
        return {f"node{number}": f"{self.prefix}.{number + 1}" for number in range(1, count + 1)}


def settings() -> Settings:
    """Return the settings from the environment.

    :raises TestbedError: an invalid value.
    """
    prefix = os.environ.get("TESTBED_PREFIX", "10.11.0")
    release = os.environ.get("TESTBED_RELEASE", RELEASES[0])
    if not re.fullmatch(r"\d{1,3}\.\d{1,3}\.\d{1,3}", prefix):
        raise TestbedError(f"TESTBED_PREFIX={prefix}: give three numbers, such as 10.11.0")
    if release not in RELEASES:
        raise TestbedError(f"TESTBED_RELEASE={release}: choose one of {', '.join(RELEASES)}")
    return Settings(prefix, release)
