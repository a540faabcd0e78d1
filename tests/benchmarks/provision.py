"""How long provision.yml takes where nothing is to be changed, and how that grows with the nodes.

The nodes are systemd containers of the testbed on this machine (``TESTBED_PREFIX``), so they share
its cores with Ansible: what nodes of a cluster compute at once, they compute here one after the
other. Hence the CPU time of the controller's own processes stands beside the wall time, and a bare
ssh login on every node at once beside both. Arguments that are not its own go to provision.yml.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from testbed import __main__ as testbed
from testbed import machine
from testbed.settings import Settings, settings

# No container engine runs in a container.
VARIABLES = {"container_engine_started": False}
# Fresh nodes change in the first; a node that still changes in the third is a fault.
_MOST_RUNS = 3
_ROW = "{:>6} {:>7} {:>9} {:>12} {:>15} {:>14}"


@dataclass(frozen=True)
class Run:
    """One run of provision.yml: wall and controller's CPU seconds, and what it printed."""

    wall: float
    cpu: float
    said: str


def provision(inventory: Path, arguments: list[str]) -> Run:
    """Run provision.yml on the nodes of the testbed and those of another inventory."""
    command = ["ansible-playbook", "-i", "inventory/testbed", "-i", str(inventory)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(
        [*command, "playbooks/provision.yml", "-e", json.dumps(VARIABLES), *arguments],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_STDOUT_CALLBACK": "default", "ANSIBLE_FORCE_COLOR": "false"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"provision.yml failed:\n{done.stdout[-3000:]}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(wall, spent, done.stdout)


def logins(config: Settings, names: list[str]) -> float:
    """Return the seconds of a bare ssh login on every node, all at once."""
    start = time.monotonic()
    ssh = ["ssh", "-F", f"{config.state}/ssh_config"]
    started = [subprocess.Popen([*ssh, name, "true"]) for name in names]
    failed = [name for name, one in zip(names, started) if one.wait()]
    if failed:
        raise SystemExit(f"no login on {', '.join(failed)}")
    return time.monotonic() - start


def unchanging(inventory: Path, arguments: list[str]) -> Run:
    """Bring the nodes to the state that is config; return the first run that changes nothing."""
    for _ in range(_MOST_RUNS):
        run = provision(inventory, arguments)
        changed = re.findall(r"^(node\d+) .*changed=[1-9]", run.said, re.MULTILINE)
        if not changed:
            return run
    raise SystemExit(f"run {_MOST_RUNS} still changes {', '.join(changed)}")


def measure(config: Settings, count: int, arguments: list[str]) -> None:
    """Print the row of so many nodes."""
    nodes = config.first(count)
    testbed.up(config, nodes, False)
    print(f"provisioning {count} nodes until nothing changes …", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        inventory = Path(folder) / "hosts.yml"
        # The testbed's own inventory says it relative to itself.
        state = {"scalebench_state_dir": str(config.state)}
        hosts = {name: {"ansible_host": address, **state} for name, address in nodes.items()}
        inventory.write_text(json.dumps({"nodes": {"hosts": hosts}}))
        first = unchanging(inventory, arguments)
        load = os.getloadavg()[0]
        again = unchanging(inventory, arguments)
    bare = min(logins(config, list(nodes)) for _ in range(3))
    tasks = len(re.findall(r"^TASK \[", again.said, re.MULTILINE))
    best = min(first, again, key=lambda run: run.wall)
    print(_ROW.format("nodes", "tasks", "wall, s", "its CPU, s", "bare logins, s", "load before"))
    figures = (f"{best.wall:.1f}", f"{best.cpu:.1f}", f"{bare:.2f}", f"{load:.1f}")
    print(_ROW.format(count, tasks, *figures), flush=True)


def main() -> None:
    """Start the nodes, measure, remove them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[4], help="how many; 4 by default")
    given, arguments = parser.parse_known_args()
    config = settings()
    with machine.room_for(max(given.nodes)):
        try:
            for count in sorted(given.nodes):
                measure(config, count, arguments)
        finally:
            testbed.down(config)


if __name__ == "__main__":
    main()
