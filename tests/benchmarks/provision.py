"""How long provision.yml takes where nothing is to be changed, and how that grows with the nodes.

The nodes are systemd containers of the testbed on this machine (``TESTBED_PREFIX``), so they share
its cores with Ansible: what a node computes here one after the other, nodes of a cluster compute at
once. Hence the CPU time of the controller's own processes stands beside the wall time, and a bare
ssh login on every node at once beside both. Further arguments go to provision.yml.

Usage: python tests/benchmarks/provision.py [--nodes 4,8] [-e ...]
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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from testbed import __main__ as testbed
from testbed import commands, nodes
from testbed.settings import Settings, settings

# The nodes share one environment of the framework, as on many clusters; no container engine runs
# in a container.
VARIABLES = {
    "framework_dir": "/shared/venvs",
    "framework_shared": True,
    "container_engine_started": False,
}
FIRST = 4
CLONE = "scalebench/provisioned:benchmark"
# Fresh nodes change in the first; a node that still changes in the third is a fault.
_MOST_RUNS = 3
# The kernel's limit counts all that root has on the machine; systemd and its services of one node
# have eleven. Beyond it a node's systemd starts nothing and does not say why.
_INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
_INSTANCES = 11


def more_nodes(wanted: Settings, count: int) -> dict[str, str]:
    """Return names and addresses of the nodes after the testbed's four."""
    return {f"node{n}": f"{wanted.prefix}.{n + 9}" for n in range(FIRST + 1, count + 1)}


def provision(inventory: Path, arguments: list[str]) -> tuple[float, float, str]:
    """Run provision.yml; return wall seconds, CPU seconds of the controller, and the recap."""
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


def start_clones(wanted: Settings, names: dict[str, str]) -> None:
    """Start further nodes as copies of a provisioned one, and write who they are."""
    testbed.keys.administrator(wanted)
    for name, address in names.items():
        testbed.keys.host_key(wanted, name, address)
        nodes.start(wanted, CLONE, name, address)
    nodes.wait(wanted, names)
    testbed.keys.client_configuration(wanted, {**wanted.nodes, **names})


def check_limit(count: int) -> None:
    """Refuse more nodes than the kernel of this machine lets systemd run in."""
    limit, needed = int(_INOTIFY.read_text()), count * _INSTANCES
    if needed > limit:
        raise SystemExit(
            f"{count} nodes need {needed} inotify instances, and {_INOTIFY} says {limit}:"
            f" sysctl fs.inotify.max_user_instances={2 * needed}, or fewer --nodes"
        )


def measure(wanted: Settings, count: int, arguments: list[str]) -> None:
    """Bring ``count`` nodes to the state that is wanted, then measure and print one row."""
    further = more_nodes(wanted, count)
    missing = {n: where for n, where in further.items() if not nodes.is_running(wanted, n)}
    if missing:
        print(f"starting {len(missing)} more nodes …", flush=True)
        commands.run("docker", "commit", nodes.container(wanted, "node1"), CLONE)
        start_clones(wanted, missing)
    with tempfile.TemporaryDirectory() as folder:
        inventory = Path(folder) / "hosts.yml"
        hosts = [f"    {name}: {{ansible_host: {where}}}" for name, where in further.items()]
        inventory.write_text("\n".join(["nodes:", "  hosts:", *hosts] if hosts else ["nodes: {}"]))
        print(f"provisioning {count} nodes until nothing changes …", flush=True)
        for _ in range(_MOST_RUNS):
            load = os.getloadavg()[0]
            seconds, spent, said = provision(inventory, arguments)
            changed = re.findall(r"^(node\d+) .*changed=[1-9]", said, re.MULTILINE)
            if not changed:
                break
        else:
            raise SystemExit(f"run {_MOST_RUNS} still changes {', '.join(changed)}")
        bare = min(logins(wanted, [*wanted.nodes, *further]) for _ in range(3))
    tasks = len(re.findall(r"^TASK \[", said, re.MULTILINE))
    print(
        f"{count:3} nodes  no change {seconds:7.1f} s   controller's CPU {spent:7.1f} s"
        f"   {tasks} tasks   bare logins {bare:6.2f} s   load before {load:.1f}",
        flush=True,
    )


def main() -> None:
    """Measure every size, the smallest first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", default="4,8", help="numbers of nodes, at least 4 each")
    given, arguments = parser.parse_known_args()
    sizes = sorted(int(number) for number in given.nodes.split(","))
    check_limit(sizes[-1])
    wanted = settings()
    testbed.up(wanted, wanted.nodes, False)
    try:
        for count in sizes:
            measure(wanted, count, arguments)
    finally:
        testbed.down(wanted)
        commands.succeeds("docker", "image", "rm", CLONE)


if __name__ == "__main__":
    main()
