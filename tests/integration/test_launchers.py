"""mpirun's ranks over real ssh: their placement, and that no end leaves a process running."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import marked
from ansible_collections.scalebench.core.plugins.module_utils.planning.launch import commands
from campaign_data import cluster as cluster_of
from local_nodes import ROOT, failures, interrupt, wait_until

RANKS = str(ROOT / "tests/integration/workloads/placed_ranks.py")
RECIPE = {
    "framework": "pytorch",
    "launcher": "mpirun",
    "program": ["{python}", RANKS],
    "choices": {
        "precision": ["fp32"],
        "data": ["synthetic"],
        "data_backend": ["native"],
        "xla": [False],
    },
    "defaults": {
        "cpu": {
            "precision": ["fp32"],
            "batch_size_per_device": [2],
            "topology": ["4n1g"],
        }
    },
    "arguments": ["0"],
}
ADDRESSES = {f"node{number}": f"127.0.0.{number + 1}" for number in range(1, 5)}
# The work of the module training_run on a node, without Ansible.
SUPERVISED = """
import json, sys
from ansible_collections.scalebench.core.plugins.module_utils.node.supervise import supervise
given = json.loads(sys.argv[1])
folder = given["folder"]
print(json.dumps(supervise(given["argv"], given["log"], given["env"], 120, 0, folder=folder)))
"""


def places(text):
    """Return node and address by rank, as printed by the ranks."""
    lines = re.findall(r"\[scalebench\] rank ({[^}]*})", text)
    ranks = [json.loads(line) for line in lines]
    return {rank["rank"]: (rank["node"], rank["host"]) for rank in ranks}


def benchmarks_with(folder, seconds):
    """Write a benchmark whose stand-in ranks run for so many seconds; return the options."""
    recipe = {**RECIPE, "arguments": [str(seconds)]}
    definition = {"benchmark": "placed", "model": "r50", "recipes": {"portable": recipe}}
    (folder / "placed.yml").write_text(yaml.safe_dump(definition))
    return {"benchmark": "placed", "campaign_benchmarks_dir": str(folder), "topology": "4n1g"}


def test_every_rank_runs_on_its_node_and_was_started_by_its_sshd(cluster, tmp_path):
    runner = cluster.bench(campaign="placed", **benchmarks_with(tmp_path, 0))
    assert runner.rc == 0, failures(runner)
    (record,) = cluster.records("placed").values()
    assert record["ending"] == "ok"
    log = (cluster.results / "placed" / record["log"]).read_text()
    assert places(log) == dict(enumerate(ADDRESSES.items()))
    # With a shared folder, one of Open MPI's daemons crashes in one of fifteen starts.
    temporary = set(re.findall(r"rank \d temporary (\S+)", log))
    assert len(temporary) == 4
    assert [folder for folder in temporary if os.path.exists(folder)] == []
    assert cluster.running() == []


def test_ranks_end_with_their_ansible_playbook(cluster, tmp_path):
    playbook = cluster.start_bench("placed-killed", **benchmarks_with(tmp_path, 300))
    wait_until(lambda: sum(RANKS in line for line in cluster.running()) >= 4 + 1)
    interrupt(playbook, signal.SIGKILL)
    wait_until(lambda: cluster.running() == [], 60)
    assert cluster.records("placed-killed") == {}


@pytest.fixture
def supervise(cluster, tmp_path):
    """Start a repeat; its supervisors, and with them its ranks, end with the test."""
    repeats = []

    def start(**options):
        repeats.append(Repeat(cluster, tmp_path, **options))
        return repeats[-1]

    yield start
    left = [one for repeat in repeats for one in repeat.supervisors.values() if one.poll() is None]
    for supervisor in left:
        supervisor.terminate()
    for supervisor in left:
        try:
            supervisor.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            supervisor.kill()


class Repeat:
    """A repeat of the stand-in, supervised on each node as by the module training_run."""

    def __init__(self, cluster, folder, absent="", patience=60):
        self.state, self.folder, self.patience = cluster.state, folder, patience
        port = cluster.port("ranks") + 50
        nodes = cluster_of(4, machine="same", interface="lo", rank_port=port)
        for name, node in nodes.items():
            node.update(
                address=ADDRESSES[name],
                workload_dir=str(cluster.state / "workloads"),
                ssh_config=str(cluster.state / "nodes" / name / "sshd/ssh_config"),
                pythons={"pytorch": sys.executable},
            )
        cell = {
            **{"benchmark": "placed", "recipe": "portable", "framework_set": "pytorch"},
            **{"batch_size_per_device": 2, "device": "cpu", "directory": "placed/bz2/4n1g"},
            **{"nodes": 4, "devices_per_node": 1, "node_names": list(nodes)},
            **{"warmup": 1, "iterations": 3},
        }
        made = commands(cell, {**RECIPE, "arguments": ["300"]}, nodes)
        self.supervisors = {
            name: self._supervise(name, command) for name, command in made.items() if name != absent
        }

    def _supervise(self, name, command):
        run = str(self.state / "nodes" / name / "runs/by-hand")
        env = {**command["env"], "SCALEBENCH_RUN": run, "SCALEBENCH_NODE": name}
        folder = self.folder / name
        folder.mkdir()
        argv = [*command["argv"][:2], f"--patience={self.patience}", *command["argv"][2:]]
        given = {"argv": argv, "env": env, "folder": str(folder), "log": f"{folder}.log"}
        return subprocess.Popen(
            [sys.executable, "-c", SUPERVISED, json.dumps(given)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
            text=True,
        )

    def processes(self, part):
        """Return the processes on node2 (mpirun: on node1) whose command line matches ``part``."""
        node = "node1" if part == "mpirun" else "node2"
        return [
            process
            for process, run in marked(str(self.state / "nodes" / node))
            if process.command.startswith(part) or part == RANKS in process.command
        ]

    def output(self):
        """Return the output of all ranks so far."""
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / "node1.log").read_text()
        return ""

    def endings(self):
        """Wait for the supervisors; return ending and reason by node."""
        answers = {
            name: json.loads(supervisor.communicate(timeout=150)[0])
            for name, supervisor in self.supervisors.items()
        }
        return {name: (answer["ending"], answer["reason"]) for name, answer in answers.items()}


@pytest.mark.parametrize(
    ("victim", "where", "reason"),
    [
        ("mpirun", "node1", "mpirun was ended by signal 9"),
        ("orted", "node2", "orted was ended by signal 9"),
        (RANKS, "node1", "exited on signal 9"),
    ],
    ids=["mpirun", "daemon", "rank"],
)
def test_a_killed_process_ends_all_with_a_reason(cluster, supervise, victim, where, reason):
    repeat = supervise()
    wait_until(lambda: len(places(repeat.output())) == 4)
    os.kill(repeat.processes(victim)[-1].pid, signal.SIGKILL)
    endings = repeat.endings()
    assert endings[where][0] == "crashed"
    assert reason in endings[where][1]
    assert cluster.running() == []


def test_a_node_that_does_not_take_its_ranks_in_is_named(cluster, supervise):
    repeat = supervise(absent="node3", patience=15)
    assert repeat.endings()["node1"][0] == "crashed"
    meeting = f"127.0.0.2:{cluster.port('ranks') + 50}"
    assert f"node3: no host_ranks.py waits for the ranks of {meeting}" in repeat.output()
    assert cluster.running() == []
