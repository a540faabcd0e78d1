"""How long provision.yml takes on four nodes where nothing is to be changed.

The nodes are systemd containers of the testbed on this machine (``TESTBED_PREFIX``), so they share
its cores with Ansible: what a node computes here one after the other, nodes of a cluster compute at
once. Hence the CPU time of the controller's own processes stands beside the wall time, and a bare
ssh login on every node at once beside both. Further arguments go to provision.yml.

Usage: python tests/benchmarks/provision.py [-e ...]
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from testbed import __main__ as testbed
from testbed.settings import Settings, settings

# No container engine runs in a container.
VARIABLES = {"container_engine_started": False}
# Fresh nodes change in the first; a node that still changes in the third is a fault.
_MOST_RUNS = 3


def provision(arguments: list[str]) -> tuple[float, float, str]:
    """Run provision.yml; return wall seconds, CPU seconds of the controller, and the recap."""
    command = ["ansible-playbook", "-i", "inventory/testbed"]
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
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"provision.yml failed:\n{done.stdout[-3000:]}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, spent, done.stdout


def logins(wanted: Settings, names: list[str]) -> float:
    """Return the seconds of a bare ssh login on every node, all at once."""
    start = time.monotonic()
    ssh = ["ssh", "-F", f"{wanted.state}/ssh_config"]
    started = [subprocess.Popen([*ssh, name, "true"]) for name in names]
    failed = [name for name, one in zip(names, started) if one.wait()]
    if failed:
        raise SystemExit(f"no login on {', '.join(failed)}")
    return time.monotonic() - start


def measure(wanted: Settings, arguments: list[str]) -> None:
    """Bring the nodes to the state that is wanted, then print what the run without changes took."""
    print("provisioning until nothing changes …", flush=True)
    for _ in range(_MOST_RUNS):
        load = os.getloadavg()[0]
        seconds, spent, said = provision(arguments)
        changed = re.findall(r"^(node\d+) .*changed=[1-9]", said, re.MULTILINE)
        if not changed:
            break
    else:
        raise SystemExit(f"run {_MOST_RUNS} still changes {', '.join(changed)}")
    bare = min(logins(wanted, list(wanted.nodes)) for _ in range(3))
    tasks = len(re.findall(r"^TASK \[", said, re.MULTILINE))
    print(f"{tasks} tasks without changes {seconds:8.1f} s   (goal: at most 30)")
    print(f"load before               {load:8.1f}")
    print(f"controller's CPU time     {spent:8.1f} s")
    print(f"bare logins at once       {bare:8.2f} s")


def main() -> None:
    """Start the nodes, measure, remove them."""
    wanted = settings()
    testbed.up(wanted, wanted.nodes, False)
    try:
        measure(wanted, sys.argv[1:])
    finally:
        testbed.down(wanted)


if __name__ == "__main__":
    main()
