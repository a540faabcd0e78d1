"""Nodes that are network namespaces on a bridge, with a part of a core each and shaped links.

They need root, and namespaces of their own that end with the process: :func:`in_namespaces`.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CGROUPS = Path("/sys/fs/cgroup")
# Of this cgroup's scheduler alone: a period short beside what is measured, a longer one for a small
# part of a core, of which the kernel gives no less than 1 ms.
PERIOD_US, SMALL_CORES = 10_000, 0.2
WEIGHT = 10_000
OUTSIDE = "SCALEBENCH_SHAPED_BY"
_NAMESPACES = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")


def run(*command: str) -> None:
    """Run a command.

    :raises SystemExit: it failed; with the end of its output.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        said = (done.stdout + done.stderr)[-3000:]
        raise SystemExit(f"{' '.join(command)[:200]} failed:\n{said}")


def in_namespaces(python: str = sys.executable) -> None:
    """Return at once in the namespaces, else run this program again in new ones and exit.

    :param python: the interpreter that runs it there.
    """
    if OUTSIDE in os.environ:
        return
    again = [*_NAMESPACES, python, *sys.argv]
    try:
        ended = subprocess.run(again, env={**os.environ, OUTSIDE: str(os.getpid())}, check=False)
    finally:
        for folder in CGROUPS.glob(f"**/scalebench-{os.getpid()}-node*"):
            folder.rmdir()
    sys.exit(ended.returncode)


@dataclass(frozen=True)
class Node:
    """A started node: `inside` runs a command in it, as does `limited` with its part of a core."""

    name: str
    address: str
    inside: tuple[str, ...]
    cgroup: Path
    period_us: int

    @property
    def limited(self) -> tuple[str, ...]:
        """Return the command that runs another with the node's part of a core."""
        procs = str(self.cgroup / "cgroup.procs")
        return (*self.inside, "sh", "-c", 'echo $$ > "$0" && exec "$@"', procs)

    def enter(self) -> None:
        """Put this process, which has one thread, into the node."""
        with Path(f"/proc/{self.inside[2]}/ns/net").open() as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0):
                raise OSError(ctypes.get_errno(), f"{self.name} cannot be entered")

    def limit(self, pid: int) -> None:
        """Give a running process the node's part of a core."""
        (self.cgroup / "cgroup.procs").write_text(str(pid))

    def give_cores(self, cores: float) -> None:
        """Set the node's part of a core, which it has at every load of the machine."""
        quota = int(cores * self.period_us)
        if (self.cgroup / "cpu.max").exists():
            (self.cgroup / "cpu.max").write_text(f"{quota} {self.period_us}")
            (self.cgroup / "cpu.weight").write_text(str(WEIGHT))
        else:
            (self.cgroup / "cpu.cfs_period_us").write_text(str(self.period_us))
            (self.cgroup / "cpu.cfs_quota_us").write_text(str(quota))
            (self.cgroup / "cpu.shares").write_text(str(WEIGHT))

    def shape_all(self, mbit: int) -> None:
        """Have the node send at most so many Mbit/s to all others together."""
        run(*self.inside, "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf",
            "rate", f"{mbit}mbit", "burst", "256k", "latency", "50ms")  # fmt: skip

    def shape_each(
        self, rates: dict[str, float], forwarded: dict[tuple[str, str], float] | None = None
    ) -> None:
        """Have the node send at most so many Mbit/s to each address.

        :param forwarded: Mbit/s of what the node forwards, by source and destination.
        """
        flows = {
            (*_match("src", source), *_match("dst", to)): mbit
            for (source, to), mbit in (forwarded or {}).items()
        }
        flows |= {_match("dst", to): mbit for to, mbit in rates.items()}
        tc = (*self.inside, "tc")
        # An htb in use cannot be replaced by another.
        run(*tc, "qdisc", "replace", "dev", "eth0", "root", "pfifo")
        run(*tc, "qdisc", "replace", "dev", "eth0", "root", "handle", "1:", "htb")
        for number, (matches, mbit) in enumerate(flows.items(), 1):
            flow = f"1:{number}"
            run(*tc, "class", "replace", "dev", "eth0", "parent", "1:", "classid", flow,
                "htb", "rate", f"{int(mbit * 1000)}kbit", "burst", "16k")  # fmt: skip
            run(*tc, "filter", "replace", "dev", "eth0", "parent", "1:", "protocol", "ip",
                "prio", str(number), "u32", *matches, "flowid", flow)  # fmt: skip

    def send_through(self, routes: dict[str, str]) -> None:
        """Have the node send to each address through another, and to all others directly."""
        run(*self.inside, "ip", "route", "flush", "proto", "static")
        for address, through in routes.items():
            run(*self.inside, "ip", "route", "add", f"{address}/32", "via", through,
                "proto", "static")  # fmt: skip


def _match(end: str, address: str) -> tuple[str, ...]:
    """Return the words of a u32 filter for packets from or to an address."""
    return ("match", "ip", end, f"{address}/32")


def start_nodes(count: int, cores: float, network: str = "10.98.0") -> list[Node]:
    """Start node1, node2 and so on, the bridge between them, and this process's end of it."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "bridge0", "type", "bridge")
    run("ip", "address", "add", f"{network}.254/24", "dev", "bridge0")
    run("ip", "link", "set", "bridge0", "up")
    return [_start(f"node{number}", f"{network}.{number}", cores) for number in range(1, count + 1)]


def _start(name: str, address: str, cores: float) -> Node:
    holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    own = Path("/proc/self/ns/net").readlink()
    while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
        pass
    inside = ("nsenter", "--target", str(holder.pid), "--net")
    run("ip", "link", "add", f"port-{name}", "type", "veth", "peer", "name", "eth0",
        "netns", str(holder.pid))  # fmt: skip
    run("ip", "link", "set", f"port-{name}", "master", "bridge0", "up")
    run(*inside, "ip", "link", "set", "lo", "up")
    run(*inside, "ip", "address", "add", f"{address}/24", "dev", "eth0")
    run(*inside, "ip", "link", "set", "eth0", "up")
    # It forwards what is sent through it, and tells nobody of a shorter way.
    run(*inside, "sh", "-c", "cd /proc/sys/net/ipv4 && echo 1 >ip_forward"
        " && echo 0 >conf/all/send_redirects && echo 0 >conf/eth0/send_redirects")  # fmt: skip
    old = CGROUPS / "cpu"
    cgroup = (old if old.is_dir() else CGROUPS) / f"scalebench-{os.environ[OUTSIDE]}-{name}"
    cgroup.mkdir()
    period = PERIOD_US if cores >= SMALL_CORES else 2 * PERIOD_US
    node = Node(name, address, inside, cgroup, period)
    node.give_cores(cores)
    return node
