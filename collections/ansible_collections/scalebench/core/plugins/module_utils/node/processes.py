"""The processes of this node: read from /proc, and ended by pid."""

from __future__ import annotations

import ctypes
import errno
import math
import os
import signal
import socket
import time
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from .programs import run_program

__all__ = [
    "RUN_VARIABLE",
    "Process",
    "adopt_orphans",
    "descendants",
    "end_processes",
    "end_with_parent",
    "environment",
    "is_free",
    "is_there",
    "listener",
    "processes",
    "read_process",
    "with_command",
]

# Set in the environment of all processes of a repeat, which are recognised by it.
RUN_VARIABLE = "SCALEBENCH_RUN"
LISTEN = "0A"
# Loaded here, because a new process may call it before it becomes its program.
_PRCTL = ctypes.CDLL(None).prctl
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
# Seconds to read what a process in state D has in its memory.
_PATIENCE = 0.5


class Process(NamedTuple):
    """One process; ``start`` is in clock ticks since boot, ``state`` the letter of proc(5).

    ``locked``: its memory cannot be read, or it has none, as a thread of the kernel; ``command`` is
    the program's name in brackets then.
    """

    pid: int
    parent: int
    group: int
    state: str
    start: int
    command: str
    locked: bool = False

    @property
    def alive(self) -> bool:
        """Return whether the process can still run, as a zombie cannot."""
        return self.state not in "ZX"


def read_process(pid: int) -> Optional[Process]:
    """Return process ``pid``; None if it does not exist."""
    process = _without_command(pid)
    return process and with_command(process)


def _without_command(pid: int) -> Optional[Process]:
    """Return process ``pid`` with its name as command; None if it does not exist."""
    try:
        stat = _content(f"/proc/{pid}/stat")
    except OSError:
        return None
    # The name, in parentheses, may itself hold spaces and parentheses.
    name, _, rest = stat.partition("(")[2].rpartition(")")
    fields = rest.split()
    parent, group, start, size = (int(fields[index]) for index in (1, 2, 19, 20))
    return Process(pid, parent, group, fields[0], start, f"[{name}]", locked=not size)


def with_command(process: Process) -> Optional[Process]:
    """Return a process of `processes` with its command; None if it has ended."""
    if process.locked:
        return process
    try:
        command = _of_memory(process.pid, "cmdline", process.state)
    except OSError:
        return None
    if command is None:
        return process._replace(locked=True)
    return process._replace(command=command.replace("\0", " ").strip())


def _content(path: str) -> str:
    """Return the text of a file of /proc, in a third of the time that `open` takes for it.

    :raises OSError: it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = [os.read(descriptor, 1 << 16)]
        while parts[-1]:
            parts.append(os.read(descriptor, 1 << 16))
    finally:
        os.close(descriptor)
    return b"".join(parts).decode(errors="replace")


def _of_memory(pid: int, name: str, state: str) -> Optional[str]:
    """Return a file of /proc that is in the memory of the process; None where that is locked.

    One that hangs in the kernel, as on a file server, may hold the lock of its memory, and a reader
    would hang for as long.

    :raises OSError: it cannot be read.
    """
    path = f"/proc/{pid}/{name}"
    if state == "D":
        try:
            return run_program(["cat", path], _PATIENCE).stdout
        except ValueError:
            return None
    return _content(path)


def processes(commands: bool = True) -> Iterator[Process]:
    """Yield every process that this user may read, its command being its name alone without them.

    Most of the time goes into what is in the memory of the processes.
    """
    read = read_process if commands else _without_command
    for name in os.listdir("/proc"):
        if name.isdigit():
            process = read(int(name))
            if process is not None:
                yield process


def descendants(pid: int) -> List[Process]:
    """Return the living processes below ``pid``, parents before children."""
    children: Dict[int, List[Process]] = {}
    for process in processes(commands=False):
        children.setdefault(process.parent, []).append(process)
    below, queue = [], [pid]
    while queue:
        for child in children.get(queue.pop(0), []):
            below.append(child)
            queue.append(child.pid)
    living = (with_command(process) for process in below if process.alive)
    return [process for process in living if process]


def adopt_orphans() -> None:
    """Have orphans below this process become its children, so that it can end them: prctl(2)."""
    _PRCTL(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent(parent: Optional[int] = None) -> None:
    """Have the kernel send SIGTERM to this process when its parent dies, also by SIGKILL.

    :param parent: its pid; if it died before the kernel was asked, the signal is sent here.
    """
    _PRCTL(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if parent not in (None, os.getppid()):
        os.kill(os.getpid(), signal.SIGTERM)


def is_there(pid: int) -> bool:
    """Return whether a process has the pid, of whatever account, seen in /proc or not."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def environment(process: Process) -> Dict[str, str]:
    """Return the environment that a process was started with; empty if it cannot be read."""
    if process.locked:
        return {}
    try:
        text = _of_memory(process.pid, "environ", process.state) or ""
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def listener(address: str, port: int) -> Optional[str]:
    """Return which process listens on IPv4 ``address``:``port`` or on all addresses, or None.

    With the unit of systemd that the process belongs to, which would start it again.
    """
    inodes = _listening_inodes(address, port)
    if not inodes:
        return None
    for process in processes():
        if inodes & _socket_inodes(process.pid):
            unit = unit_of(process.pid)
            words = process.command or "no command line"
            return f"process {process.pid} ({words})" + (f" of {unit}" if unit else "")
    return "a process of another user"


def is_free(address: str, port: int) -> Optional[bool]:
    """Return whether a daemon could listen there; None if this node does not have the address."""
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((address, port))
        except OSError as error:
            return None if error.errno == errno.EADDRNOTAVAIL else False
    return True


def unit_of(pid: int) -> str:
    """Return the service or socket of systemd that a process runs in; empty for a session."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
            folders = [line.rstrip().rpartition("/")[2] for line in file]
    except OSError:
        return ""
    return next((name for name in folders if name.endswith((".service", ".socket"))), "")


def _listening_inodes(address: str, port: int) -> Set[str]:
    """Return the inodes of the listening sockets; format of the tables: proc(5), /proc/net/tcp.

    A socket on all addresses of IPv6 has those of IPv4 too, unless its program forbids that
    (ipv6(7), IPV6_V6ONLY); the table does not say so, but the kernel does.
    """
    packed = "".join(f"{int(part):02X}" for part in reversed(address.split(".")))
    tables = {"tcp": [packed, "0" * 8]}
    if is_free(address, port) is False:
        tables["tcp6"] = ["0" * 32]
    inodes: Set[str] = set()
    for table, hosts in tables.items():
        wanted = {f"{host}:{port:04X}" for host in hosts}
        try:
            with open(f"/proc/net/{table}", encoding="ascii") as file:
                rows = [line.split() for line in file.readlines()[1:]]
        except FileNotFoundError:
            continue  # a kernel without IPv6
        inodes |= {row[9] for row in rows if row[1] in wanted and row[3] == LISTEN}
    return inodes


def _socket_inodes(pid: int) -> Set[str]:
    """Return the inodes of the sockets that ``pid`` has open."""
    inodes = set()
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    except OSError:
        pass
    return inodes


def end_processes(find: Callable[[], List[Process]], grace: float = 5.0) -> List[Process]:
    """End the processes that ``find`` returns, repeatedly, until it returns none.

    Those of other accounts, as of sudo, may not be signalled, and are left.

    :param find: returns the living processes to end; called again in every round. It may take
        longer than ``grace``, where the kernel holds what it reads.
    :param grace: seconds between SIGTERM and SIGKILL.
    :returns: every process that was signalled.
    :raises ValueError: a process survives SIGKILL for ``grace`` more seconds (uninterruptible).
    """
    signalled: Dict[Tuple[int, int], Process] = {}
    refused: Set[Tuple[int, int]] = set()
    asked = killed = math.inf
    nothing = 0
    while True:
        # Before they are looked for: what is read first may end while others are read.
        now = time.monotonic()
        left = [process for process in find() if (process.pid, process.start) not in refused]
        # Two empty rounds: a process forked during a round by one that ended is seen in the next.
        nothing = 0 if left else nothing + 1
        if nothing > 1:
            return list(signalled.values())
        if nothing:
            continue
        if now - killed > grace:
            names = ", ".join(f"{one.pid} ({one.command}, state {one.state})" for one in left)
            raise ValueError(
                f"still alive {grace:.0f} s after SIGKILL: {names}: in state D a driver or a file"
                " server does not answer: see dmesg, and restart the node where that lasts"
            )
        kills = now - asked > grace
        for process in left:
            known = (process.pid, process.start) in signalled
            if not known or kills:
                if _signal(process, signal.SIGKILL if kills else signal.SIGTERM):
                    signalled[process.pid, process.start] = process
                else:
                    refused.add((process.pid, process.start))
        asked = min(asked, time.monotonic())
        killed = min(killed, time.monotonic()) if kills else killed
        time.sleep(0.05)


def _signal(process: Process, number: int) -> bool:
    """Signal a process, unless another has its pid by now; return False where it may not be."""
    now = read_process(process.pid)
    if now is not None and now.start == process.start:
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            return False
    return True
