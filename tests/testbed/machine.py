"""Requirements on this machine: programs, inotify instances, control groups."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .commands import TestbedError, run, say
from .settings import ROOT

INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
# Provisioned nodes use ten to thirteen.
INOTIFY_PER_NODE = 16


def install_programs(part: str = "testbed") -> None:
    """Install the missing programs of a testbed: those of scripts/programs.txt.

    :param part: what needs them.
    :raises TestbedError: there is no apt, or the user is not root.
    """
    # Debian installs daemons in folders that are not on an ordinary user's PATH.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    run(str(ROOT / "scripts/system-packages"), sys.executable, "run", part)


@contextmanager
def room_for(count: int, limit: Path = INOTIFY) -> Iterator[None]:
    """Raise the kernel's limit of inotify instances for ``count`` nodes; restore it afterwards.

    :param limit: file of the limit per user; root of all nodes counts as one user.
    """
    before = limit.read_text()
    needed = count * INOTIFY_PER_NODE
    if needed > int(before):
        say(f"raising {limit} from {before.strip()} to {needed} temporarily")
        limit.write_text(str(needed))
    try:
        yield
    finally:
        if limit.read_text() != before:
            limit.write_text(before)


def systemd_arguments(cgroups: Path = Path("/sys/fs/cgroup")) -> list[str]:
    """Return the arguments of ``docker run`` that let systemd be a container's first process.

    On a machine with control groups v1, systemd gets the v2 tree that is mounted beside them. Never
    mount all of /sys/fs/cgroup: with CAP_SYS_ADMIN systemd would remount the machine's own. With
    control groups v2 the container has its own namespace, which node-init makes writable.

    :raises TestbedError: the machine has only control groups v1.
    """
    if (cgroups / "unified/cgroup.controllers").exists():
        return ["--cgroupns", "host", "--volume", f"{cgroups}/unified:/sys/fs/cgroup:rw"]
    if (cgroups / "cgroup.controllers").exists():
        return ["--cgroupns", "private"]
    raise TestbedError(f"{cgroups}: the nodes' systemd needs control groups of version 2")
