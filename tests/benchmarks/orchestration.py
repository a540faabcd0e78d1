"""Measure what bench.yml costs per repeat, beside a bare loop that starts the same over ssh.

The ranks are stand-ins that take one second (``workloads/fixed_time.py``), so that no training
scatters. For each number of nodes the same campaign is run with few and with many repeats; the
difference is free of what a campaign costs once. The nodes are local: what runs on them shares the
cores of this machine with the controller, so the wall time has their work one after the other
that the nodes of a cluster do at the same time. The CPU time is the controller's alone: that of
ansible-playbook with its ssh clients, or that of the shell with its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.planning.plan import repeats
from ansible_collections.scalebench.core.plugins.module_utils.records.cells import cell_key

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = Path(__file__).parent / "workloads"
PORT = 10060
FIXED = 1.0  # seconds, as in workloads/fixed_time.yml
_ROW = "{:>6} {:>15} {:>15} {:>22} {:>15} {:>15}"
_TITLES = ("nodes", "bench.yml wall", "bench.yml CPU", "bench.yml CPU per node")


@dataclass(frozen=True)
class Cost:
    """Wall-clock time and CPU time of child processes, in seconds."""

    wall: float
    cpu: float

    def per_repeat(self, fewer: Cost, count: int) -> Cost:
        """Return the cost of a repeat beyond its fixed time, by one that had ``count`` fewer."""
        return Cost((self.wall - fewer.wall) / count - FIXED, (self.cpu - fewer.cpu) / count)


def measure(command: list[str], **environment: str) -> Cost:
    """Run a command; return what it cost.

    :raises SystemExit: it failed; with the end of its output.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:2])} failed:\n{done.stdout[-3000:]}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, spent)


class Nodes:
    """Local nodes in a folder of their own."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count
        hosts = {f"node{n}": {"ansible_host": f"127.0.0.{n + 1}"} for n in range(1, count + 1)}
        self.inventory = folder / "hosts.yml"
        groups = {"nodes": {"hosts": hosts}, "local_nodes": {"children": {"nodes": {}}}}
        self.inventory.write_text(json.dumps(groups))
        (folder / "group_vars").symlink_to(ROOT / "inventory/local/group_vars")

    def arguments(self, **variables: object) -> list[str]:
        """Return the arguments of ansible-playbook for the nodes."""
        own = {"scalebench_state_dir": str(self.folder), "cluster_ssh_port": PORT, **variables}
        return ["-i", str(self.inventory), "-e", json.dumps(own)]

    def play(self, playbook: str, *arguments: str, **variables: object) -> Cost:
        """Run a playbook on the nodes; return what it cost."""
        command = ["ansible-playbook", f"playbooks/{playbook}.yml"]
        return measure([*command, *self.arguments(**variables), *arguments])

    def bench(self, campaign: str, count: int) -> Cost:
        """Run a campaign of so many repeats."""
        return self.play(
            "bench",
            campaign=campaign,
            benchmark="fixed_time",
            campaign_benchmarks_dir=str(WORKLOADS),
            workload_dir=str(WORKLOADS),
            framework_python=sys.executable,
            campaign_results_dir=str(self.folder / "results"),
            topology=f"{self.count}n1g",
            repeats=count,
            preflight=False,
        )

    def loop(self, campaign: str) -> Cost:
        """Run the repeats of a campaign again: for each one ssh per node, in parallel."""
        plan = json.loads((self.folder / "results" / campaign / "plan.json").read_text())
        ssh = (
            f"ssh -F none -p {PORT} -i {self.folder}/ssh/id_ed25519 -o IdentitiesOnly=yes"
            f" -o UserKnownHostsFile={self.folder}/ssh/known_hosts"
        )
        (commands,) = {cell_key(cell): cell["commands"] for cell in plan["cells"]}.values()
        lines = ["set -e"]
        for number, repeat in enumerate(repeats(plan["cells"])):
            lines.append("pids=")
            for node in repeat["cell"]["node_names"]:
                words = [f"{k}={shlex.quote(value)}" for k, value in commands[node]["env"].items()]
                words += [shlex.quote(argument) for argument in commands[node]["argv"]]
                log = self.folder / f"loop-{campaign}-{number}-{node}.log"
                address = plan["nodes"][node]["address"]
                lines.append(f"{ssh} {address} {shlex.quote(' '.join(words))} >{log} 2>&1 &")
                lines.append('pids="$pids $!"')
            lines.append("for pid in $pids; do wait $pid; done")
        # As a file: an argument has at most 128 KiB (MAX_ARG_STRLEN), less than 640 commands take.
        script = self.folder / f"loop-{campaign}.sh"
        script.write_text("\n".join(lines), encoding="utf-8")
        cost = measure(["bash", str(script)])
        logs = list(self.folder.glob(f"loop-{campaign}-*.log"))
        if any("[scalebench] end" not in log.read_text() for log in logs):
            raise SystemExit("no comparison: a rank of the shell loop failed")
        return cost


def rows(count: int, times: int, few: int, many: int) -> None:
    """Measure ``count`` nodes and print a row for each time.

    :param few: repeats of the smaller campaign.
    :param many: repeats of the larger one.
    """
    with tempfile.TemporaryDirectory(prefix="orchestration") as folder:
        nodes = Nodes(Path(folder), count)
        try:
            nodes.play("provision", "--tags", "local_cluster")
            for number in range(times):
                small, large = f"few{number}", f"many{number}"
                fewer = nodes.bench(small, few)
                ours = nodes.bench(large, many).per_repeat(fewer, many - few)
                theirs = nodes.loop(large).per_repeat(nodes.loop(small), many - few)
                figures = (ours.wall, ours.cpu, ours.cpu / count, theirs.wall, theirs.cpu)
                print(_ROW.format(count, *(f"{figure:.3f}" for figure in figures)), flush=True)
        finally:
            nodes.play("teardown")


def main() -> None:
    """Print the costs per repeat, in seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--repeats", type=int, nargs=2, default=[2, 10], help="default 2 10")
    parser.add_argument("--times", type=int, default=1, help="measurements of each; default 1")
    options = parser.parse_args()
    print(f"Seconds per repeat beyond the {FIXED:g} s of its ranks; load {os.getloadavg()[0]:.1f}")
    print(_ROW.format(*_TITLES, "ssh loop wall", "ssh loop CPU"))
    for count in options.nodes:
        rows(count, options.times, *options.repeats)
    print("Goals: wall at most 0.5 on 4 nodes, CPU per node at most 0.1 on 64")


if __name__ == "__main__":
    main()
