"""Measure provision.yml when nothing has to change, for several numbers of nodes.

The nodes are systemd containers of the testbed on this machine (``TESTBED_PREFIX``), or with
``--local`` local nodes, which use the frameworks of ``.state/venvs``. They share its cores with
Ansible, so they compute one after the other what the nodes of a cluster compute in parallel. The
output therefore also has the CPU time of the controller's processes, and the time of simultaneous
bare ssh logins on all nodes of the testbed. Unknown arguments are passed on to provision.yml.
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from orchestration import Nodes
from testbed import __main__ as testbed
from testbed import machine
from testbed.settings import Settings, settings

# A container engine cannot run in a container.
VARIABLES = {"container_engine_started": False}
# Fresh nodes change in the first run; a node that still changes in the third is an error.
_MAX_RUNS = 3
_ROW = "{:>6} {:>7} {:>9} {:>9} {:>12} {:>15} {:>7}"
FRAMEWORKS = ROOT / ".state/venvs"


@dataclass(frozen=True)
class Run:
    """One run of provision.yml: wall-clock time, CPU time of the controller (s), and its output."""

    wall: float
    cpu: float
    output: str


def provision(arguments: list[str]) -> Run:
    """Run provision.yml."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    completed = subprocess.run(
        ["ansible-playbook", "playbooks/provision.yml", *arguments],
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


def run_without_changes(arguments: list[str]) -> Run:
    """Run provision.yml until nothing changes; return the first run without changes."""
    for _ in range(_MAX_RUNS):
        run = provision(arguments)
        changed = re.findall(r"^(\S.*?) +: ok=.*changed=[1-9]", run.output, re.MULTILINE)
        if not changed:
            return run
    raise SystemExit(f"run {_MAX_RUNS} still changed {', '.join(changed)}")


def row(count: int, arguments: list[str], bare: Callable[[], str]) -> None:
    """Measure ``count`` nodes and print one row.

    :param bare: returns the time of bare logins.
    """
    print(f"provisioning {count} nodes until nothing changes …", flush=True)
    first = run_without_changes(arguments)
    load = os.getloadavg()[0]
    again = run_without_changes(arguments)
    tasks = len(re.findall(r"^TASK \[", again.output, re.MULTILINE))
    best = min(first, again, key=lambda run: run.cpu)
    print(
        _ROW.format("nodes", "tasks", "wall, s", "CPU, s", "CPU/node, s", "bare logins, s", "load")
    )
    figures = (f"{best.wall:.1f}", f"{best.cpu:.1f}", f"{best.cpu / count:.2f}", bare())
    print(_ROW.format(count, tasks, *figures, f"{load:.1f}"), flush=True)


def measure(config: Settings, count: int, arguments: list[str]) -> None:
    """Measure ``count`` nodes of the testbed."""
    nodes = config.first(count)
    testbed.up(config, nodes, False)
    with tempfile.TemporaryDirectory() as folder:
        inventory = Path(folder) / "hosts.yml"
        # The testbed's inventory sets it relative to its own path.
        state = {"scalebench_state_dir": str(config.state)}
        hosts = {name: {"ansible_host": address, **state} for name, address in nodes.items()}
        inventory.write_text(json.dumps({"nodes": {"hosts": hosts}}))
        given = ["-i", "inventory/testbed", "-i", str(inventory), "-e", json.dumps(VARIABLES)]
        row(
            count,
            [*given, *arguments],
            lambda: f"{min(logins(config, list(nodes)) for _ in range(3)):.2f}",
        )


def measure_local(count: int, arguments: list[str]) -> None:
    """Measure ``count`` local nodes."""
    with tempfile.TemporaryDirectory(prefix="provision") as folder:
        nodes = Nodes(Path(folder), count)
        try:
            row(count, [*nodes.arguments(framework_dir=str(FRAMEWORKS)), *arguments], lambda: "-")
        finally:
            nodes.play("teardown")


def main() -> None:
    """Start the nodes, measure, remove them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--nodes", type=int, nargs="+", default=[4], help="numbers of nodes; default 4"
    )
    parser.add_argument("--local", action="store_true", help="local nodes, without the testbed")
    options, arguments = parser.parse_known_args()
    if options.local:
        for count in sorted(options.nodes):
            measure_local(count, arguments)
        return
    config = settings()
    with machine.room_for(max(options.nodes)):
        try:
            for count in sorted(options.nodes):
                measure(config, count, arguments)
        finally:
            testbed.down(config)


if __name__ == "__main__":
    main()
