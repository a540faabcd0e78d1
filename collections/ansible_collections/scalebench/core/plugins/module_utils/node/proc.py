"""Read Linux's /proc: which processes there are, whose children they are, who listens on a port."""

from __future__ import annotations

import os
from typing import Dict, Iterator, List, NamedTuple, Optional, Set

__all__ = ["Process", "descendants", "environment", "listener", "processes", "read_process"]

LISTEN = "0A"


class Process(NamedTuple):
    """One process; ``start`` is in clock ticks since boot, ``state`` proc(5)'s letter."""

    pid: int
    parent: int
    group: int
    state: str
    start: int
    command: str

    @property
    def alive(self) -> bool:
        """Return whether it can still run; a zombie waits only for its parent."""
        return self.state not in "ZX"


def read_process(pid: int) -> Optional[Process]:
    """Return process ``pid``, or None where there is none (any more)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            # The name, in parentheses, may itself hold spaces and parentheses.
            fields = stat.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
            command = cmdline.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return None
    return Process(pid, int(fields[1]), int(fields[2]), fields[0], int(fields[19]), command)


def processes() -> Iterator[Process]:
    """Yield every process that can be read."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            process = read_process(int(name))
            if process is not None:
                yield process


def descendants(pid: int) -> List[Process]:
    """Return the living processes below ``pid``, parents before children."""
    children: Dict[int, List[Process]] = {}
    for process in processes():
        children.setdefault(process.parent, []).append(process)
    found, queue = [], [pid]
    while queue:
        for child in children.get(queue.pop(0), []):
            found.append(child)
            queue.append(child.pid)
    return [process for process in found if process.alive]


def environment(pid: int) -> Dict[str, str]:
    """Return the environment that ``pid`` was started with; empty where it may not be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            text = environ.read().decode("utf-8", "replace")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def listener(address: str, port: int) -> Optional[str]:
    """Return who listens on IPv4 ``address``:``port`` or on all addresses; None: nobody."""
    inodes = _listening_inodes(address, port)
    if not inodes:
        return None
    for process in processes():
        if inodes & _socket_inodes(process.pid):
            return f"process {process.pid} ({process.command or 'no command line'})"
    return "a process of another user"


def _listening_inodes(address: str, port: int) -> Set[str]:
    """Return the inodes of the sockets that listen there; table layout: proc(5), /proc/net/tcp."""
    packed = "".join(f"{int(part):02X}" for part in reversed(address.split(".")))
    wanted = {f"{host}:{port:04X}" for host in (packed, "00000000")}
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return {row[9] for row in rows if row[1] in wanted and row[3] == LISTEN}


def _socket_inodes(pid: int) -> Set[str]:
    """Return the inodes of the sockets that ``pid`` holds."""
    found = set()
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target.startswith("socket:["):
                found.add(target[8:-1])
    except OSError:
        pass
    return found
