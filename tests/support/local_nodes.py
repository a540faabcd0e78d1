"""Four local nodes for the tests: their own ports and state folder, the shared environments."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import (
    Process,
    environment,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import marked
from ansible_collections.scalebench.core.plugins.module_utils.topology import parse_topology
from playbook_runs import ROOT, run_playbook

# A repeat with these options takes seconds; only its start-up is as long as usual.
SMALL = {"warmup": 1, "iterations": 3, "repeats": 1, "batch_size_per_device": 2}
# What costs seconds of each campaign, for the tests that look at it.
WHOLE = {
    "preflight": True,
    "report_plots": True,
    "report_published_dir": str(ROOT / "published"),
}
# False, and no folder.
_BRIEF = {**SMALL, **{name: type(value)() for name, value in WHOLE.items()}}
# A stand-in for the trainer, whose steps are slept: for what does not depend on the training.
TIMED_STEPS = {
    "benchmark": "timed_steps",
    "campaign_benchmarks_dir": str(ROOT / "tests/integration/workloads"),
    "workload_dir": str(ROOT / "tests/integration/workloads"),
    "framework_python": sys.executable,
}
# First ports of sshd, of rendezvous, and of what a single test starts beside the nodes.
PORTS = {"ssh": 10100, "ranks": 29000, "spare": 20100}
# The playbooks that tests have started in the background, with the nodes that they use.
_STARTED: list[tuple[subprocess.Popen[str], Cluster]] = []


def reserve_ports() -> tuple[socket.socket, int]:
    """Reserve ports that no other tests on this machine use, in this process or another.

    :return: a socket that holds them as long as it is open, and their distance from ``PORTS``.
    """
    for distance in range(0, 1000, 100):
        holder = socket.socket()
        with suppress(OSError):
            # Nodes that killed tests left behind may listen on any address.
            with socket.socket() as everywhere:
                everywhere.bind(("", PORTS["ssh"] + distance))
            # On 127.0.0.1 no node listens.
            holder.bind(("127.0.0.1", PORTS["ssh"] + distance))
            holder.listen()
            return holder, distance
        holder.close()
    raise RuntimeError("ten other tests use local nodes on this machine")


@dataclass
class Cluster:
    """The nodes of the tests, with functions that run playbooks on them."""

    state: Path
    results: Path
    _ports: tuple[socket.socket, int] = field(default_factory=reserve_ports, repr=False)

    def port(self, kind: str) -> int:
        """Return the first port of a kind in ``PORTS``; the 99 after it are reserved too."""
        return PORTS[kind] + self._ports[1]

    @property
    def variables(self) -> dict[str, Any]:
        """Return the variables that separate these nodes from the user's local nodes."""
        return {
            "scalebench_state_dir": str(self.state),
            "framework_dir": str(ROOT / ".state/venvs"),
            "cluster_ssh_port": self.port("ssh"),
            "campaign_rank_port": self.port("ranks"),
            "campaign_results_dir": str(self.results),
        }

    def run(self, playbook: str, *arguments: str, **variables: Any) -> Any:
        """Run a playbook on the nodes and return the runner."""
        given = {**self.variables, **variables}
        return run_playbook(self.state, f"playbooks/{playbook}", *arguments, **given)

    def bench(self, *arguments: str, **variables: Any) -> Any:
        """Run bench.yml with the options SMALL, and without what is WHOLE.

        A run on one or two nodes is limited to them: every further node costs a second.
        """
        if "--limit" not in arguments:
            arguments += _limit(variables.get("topology", ""))
        return self.run("bench.yml", *arguments, **{**_BRIEF, **variables})

    def start_bench(
        self, campaign: str, inside: Sequence[str] = (), **variables: Any
    ) -> subprocess.Popen[str]:
        """Start bench.yml in its own session, so that a test can interrupt it.

        :param inside: the command that starts it in a container of its own.
        """
        limit = _limit(variables.get("topology", ""))
        given = json.dumps({**self.variables, **_BRIEF, "campaign": campaign, **variables})
        return self.start([*inside, "ansible-playbook", "playbooks/bench.yml", *limit, "-e", given])

    def start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Start a command in its own session; it is killed after the test if it still runs."""
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        _STARTED.append((process, self))
        return process

    def records(self, campaign: str) -> dict[str, dict[str, Any]]:
        """Return the run records of a campaign by log."""
        paths = sorted((self.results / campaign).glob("logs/**/*.run.json"))
        return {record["log"]: record for record in (json.loads(p.read_text()) for p in paths)}

    def provision_without_python(self, framework: str, **variables: Any) -> None:
        """Provision a framework that needs a Python version that does not exist."""
        framework_set = {"python": ["9.9"], "packages": [], "import": framework}
        provisioned = self.run(
            "provision.yml", "--tags", "framework", **variables,
            framework_names=[framework], __framework_set=framework_set,
        )  # fmt: skip
        assert provisioned.rc == 0, failures(provisioned)
        assert sum(provisioned.stats["changed"].values()) > 0

    def processes(self) -> list[Process]:
        """Return the running processes that repeats have started."""
        return [process for process, _ in marked(str(self.state))]

    def ranks(self) -> dict[str, Process]:
        """Return the processes of the training ranks by node."""
        started = [(process, environment(process)) for process in self.processes()]
        return {own["SCALEBENCH_NODE"]: rank for rank, own in started if "LOCAL_RANK" in own}

    def running(self) -> list[str]:
        """Return the command lines of the running processes that repeats have started."""
        return [process.command for process in self.processes()]


def _limit(asked: str | Sequence[str]) -> tuple[str, ...]:
    names = asked.split(",") if isinstance(asked, str) else asked
    try:
        most = max(parse_topology(name)[0] for name in names)
    except ValueError:
        # None, those of the benchmark, or what bench.yml refuses.
        return ()
    return ("--limit", ",".join(["node1", "node2"][:most])) if most <= 2 else ()


def events(runner: Any, action: str) -> list[dict[str, Any]]:
    """Return the results of all successful tasks of ``action``."""
    return [
        event["event_data"]["res"]
        for event in runner.events
        if event["event"] == "runner_on_ok" and event["event_data"]["task_action"] == action
    ]


def ranks_of(text: str) -> list[dict[str, Any]]:
    """Return the facts that each rank printed in a trainer's log."""
    lines = [line for line in text.splitlines() if "[scalebench] rank" in line]
    return [json.loads(line.split(" rank ", 1)[1]) for line in lines]


def places_of_ranks(text: str) -> list[tuple[int, str]]:
    """Return number and node of each rank."""
    return [(rank["rank"], rank["node"]) for rank in ranks_of(text)]


def failures(runner: Any) -> str:
    """Return the messages of all failed tasks and unreachable nodes."""
    return "\n".join(
        str(event["event_data"]["res"].get("msg"))
        for event in runner.events
        if event["event"] in ("runner_on_failed", "runner_on_unreachable")
    )


def wait_until(condition: Callable[[], Any], patience: float = 120) -> None:
    """Wait until the condition is true; fail after ``patience`` seconds."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"the condition was not met within {patience} s"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def pytorch(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Install PyTorch into the shared environments unless it is there.

    Tests run in several processes: one installs while the others wait, and none finds half of it.
    """
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    (ROOT / ".state/venvs").mkdir(parents=True, exist_ok=True)
    machine = Cluster(tmp_path_factory.mktemp("pytorch"), tmp_path_factory.mktemp("results"))
    with (ROOT / ".state/venvs/.tests.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = machine.run("provision.yml", "-i inventory/this_machine --tags framework")
    assert done.rc == 0, failures(done)


@pytest.fixture(scope="session")
def cluster(pytorch: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield provisioned nodes; stop them after the last test, and when the tests are ended."""
    # As Ctrl-C. Nodes that go on would keep their ports from the next tests.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    nodes = Cluster(tmp_path_factory.mktemp("cluster"), tmp_path_factory.mktemp("results"))
    try:
        provisioned = nodes.run("provision.yml")
        assert provisioned.rc == 0, failures(provisioned)
        yield nodes
    finally:
        stopped = nodes.run("teardown.yml")
    assert stopped.rc == 0, failures(stopped)
    assert nodes.running() == []


@pytest.fixture(autouse=True)
def ended_playbooks() -> Iterator[None]:
    """Kill what a failed test left running: its campaign would hold the nodes of the next tests."""
    yield
    while _STARTED:
        process, nodes = _STARTED.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            wait_until(lambda nodes=nodes: nodes.running() == [], 30)


def interrupt(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """Send a signal to ansible-playbook only; return its output."""
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=120)
    return out
