"""What this machine allows: programs, control groups, capabilities."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .commands import TestbedError, run, say

# Program -> Debian package.
PROGRAMS = {
    "dockerd": "docker.io",
    "docker": "docker.io",
    "iptables": "iptables",
    "mmdebstrap": "mmdebstrap",
    # Stand-in packages are compiled and signed.
    "cc": "gcc",
    "gpg": "gpg",
    "tinyproxy": "tinyproxy-bin",
}

INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
# Ten to thirteen were counted on provisioned nodes.
INOTIFY_OF_A_NODE = 16


def install_programs() -> None:
    """Install what is missing through apt.

    :raises TestbedError: this is no Debian, or apt needs a root that we are not.
    """
    # Debian keeps daemons where an ordinary user's PATH does not look.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = sorted({name for program, name in PROGRAMS.items() if not shutil.which(program)})
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise TestbedError(f"install these packages first: {' '.join(missing)}")
    say(f"installing {' '.join(missing)}")
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    apt = ("apt-get", "-o", "DPkg::Lock::Timeout=600")
    run(*apt, "update", "-qq")
    run(*apt, "install", "-y", "-qq", "--no-install-recommends", *missing)


@contextmanager
def room_for(count: int, limit: Path = INOTIFY) -> Iterator[None]:
    """Let so many nodes run at once, and leave the kernel's limit as it was.

    :param limit: the kernel's, of inotify instances: the nodes' root is one user to it.
    """
    before = limit.read_text()
    needed = count * INOTIFY_OF_A_NODE
    if needed > int(before):
        say(f"raising {limit} from {before.strip()} to {needed} meanwhile")
        limit.write_text(str(needed))
    try:
        yield
    finally:
        if limit.read_text() != before:
            limit.write_text(before)


def systemd_arguments(cgroups: Path = Path("/sys/fs/cgroup")) -> list[str]:
    """Return the arguments of ``docker run`` with which systemd can be a container's first process.

    Where control groups are of version 1, systemd gets the tree of version 2 that lies beside
    them. All of /sys/fs/cgroup must never be bound there: with CAP_SYS_ADMIN systemd would remount
    the machine's own. Where they are of version 2, the container has a namespace of its own, which
    node-init opens.

    :raises TestbedError: control groups of version 1 alone.
    """
    if (cgroups / "unified/cgroup.controllers").exists():
        return ["--cgroupns", "host", "--volume", f"{cgroups}/unified:/sys/fs/cgroup:rw"]
    if (cgroups / "cgroup.controllers").exists():
        return ["--cgroupns", "private"]
    raise TestbedError(f"{cgroups}: the nodes' systemd needs control groups of version 2")
