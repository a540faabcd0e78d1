"""Measure provision.yml when nothing has to change, for several numbers of nodes.

The nodes are systemd containers of the testbed on this machine (``TESTBED_PREFIX``). They share its
cores with Ansible, so they compute one after the other what the nodes of a cluster compute in
parallel. The output therefore also has the CPU time of the controller's processes, and the time of
simultaneous bare ssh logins on all nodes. Unknown arguments are passed on to provision.yml.
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

# A container engine cannot run in a container.
VARIABLES = {"container_engine_started": False}
# Fresh nodes change in the first run; a node that still changes in the third is an error.
_MAX_RUNS = 3
_ROW = "{:>6} {:>7} {:>9} {:>12} {:>15} {:>14}"


@dataclass(frozen=True)
class Run:
    """One run of provision.yml: wall-clock time, CPU time of the controller (s), and its output."""

    wall: float
    cpu: float
    output: str


def provision(inventory: Path, arguments: list[str]) -> Run:
    """Run provision.yml with the testbed's inventory and an additional one."""
    command = ["ansible-playbook", "-i", "inventory/testbed", "-i", str(inventory)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    completed = subprocess.run(
        [*command, "playbooks/provision.yml", "-e", json.dumps(VARIABLES), *arguments],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_STDOUT_CALLBACK": "default", "ANSIBLE_FORCE_COLOR": "false"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if completed.returncode:
        raise SystemExit(f"provision.yml failed:\n{completed.stdout[-3000:]}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(wall, spent, completed.stdout)


def logins(config: Settings, names: list[str]) -> float:
    """Return the time (s) of simultaneous bare ssh logins on all nodes."""
    start = time.monotonic()
    ssh = ["ssh", "-F", f"{config.state}/ssh_config"]
    processes = [subprocess.Popen([*ssh, name, "true"]) for name in names]
    failed = [name for name, process in zip(names, processes) if process.wait()]
    if failed:
        raise SystemExit(f"the login failed on {', '.join(failed)}")
    return time.monotonic() - start


def run_without_changes(inventory: Path, arguments: list[str]) -> Run:
    """Run provision.yml until nothing changes; return the first run without changes."""
    for _ in range(_MAX_RUNS):
        run = provision(inventory, arguments)
        changed = re.findall(r"^(\S.*?) +: ok=.*changed=[1-9]", run.output, re.MULTILINE)
        if not changed:
            return run
    raise SystemExit(f"run {_MAX_RUNS} still changed {', '.join(changed)}")


def measure(config: Settings, count: int, arguments: list[str]) -> None:
    """Measure ``count`` nodes and print one row."""
    nodes = config.first(count)
    testbed.up(config, nodes, False)
    print(f"provisioning {count} nodes until nothing changes …", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        inventory = Path(folder) / "hosts.yml"
        # The testbed's inventory sets it relative to its own path.
        state = {"scalebench_state_dir": str(config.state)}
        hosts = {name: {"ansible_host": address, **state} for name, address in nodes.items()}
        inventory.write_text(json.dumps({"nodes": {"hosts": hosts}}))
        first = run_without_changes(inventory, arguments)
        load = os.getloadavg()[0]
        again = run_without_changes(inventory, arguments)
    bare = min(logins(config, list(nodes)) for _ in range(3))
    tasks = len(re.findall(r"^TASK \[", again.output, re.MULTILINE))
    best = min(first, again, key=lambda run: run.wall)
    print(_ROW.format("nodes", "tasks", "wall, s", "CPU, s", "bare logins, s", "load before"))
    figures = (f"{best.wall:.1f}", f"{best.cpu:.1f}", f"{bare:.2f}", f"{load:.1f}")
    print(_ROW.format(count, tasks, *figures), flush=True)


def main() -> None:
    """Start the nodes, measure, remove them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--nodes", type=int, nargs="+", default=[4], help="numbers of nodes; default 4"
    )
    options, arguments = parser.parse_known_args()
    config = settings()
    with machine.room_for(max(options.nodes)):
        try:
            for count in sorted(options.nodes):
                measure(config, count, arguments)
        finally:
            testbed.down(config)


if __name__ == "__main__":
    main()
