"""Four local nodes of the tests' own: another port, another state folder, the same environments."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.proc import Process
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import marked

ROOT = Path(__file__).resolve().parents[2]
# A repeat of this takes seconds; only its start-up is as long as a real one's.
SMALL = {"warmup": 1, "iterations": 3, "repeats": 1, "batch_size_per_device": 2}


@dataclass
class Cluster:
    """The tests' nodes and how to run playbooks on them."""

    state: Path
    results: Path

    @property
    def variables(self) -> dict[str, Any]:
        """Return the variables that keep these nodes apart from a user's own."""
        return {
            "scalebench_state_dir": str(self.state),
            "framework_dir": str(ROOT / ".state/venvs"),
            "cluster_ssh_port": 10022,
            "campaign_rank_port": 29622,
            "campaign_results_dir": str(self.results),
        }

    def run(self, playbook: str, *arguments: str, **variables: Any) -> Any:
        """Run a playbook through ansible_runner; return its runner."""
        folder = self.state / "runner" / f"{time.monotonic_ns()}"
        folder.mkdir(parents=True)
        return ansible_runner.run(
            private_data_dir=str(folder),
            project_dir=str(ROOT),
            playbook=f"playbooks/{playbook}",
            cmdline=" ".join(arguments) or None,
            extravars={**self.variables, **variables},
            quiet=True,
        )

    def bench(self, *arguments: str, **variables: Any) -> Any:
        """Run bench.yml with small training."""
        return self.run("bench.yml", *arguments, **{**SMALL, **variables})

    def start_bench(self, campaign: str, **variables: Any) -> subprocess.Popen[str]:
        """Start bench.yml as a user would, in a session of its own, to be interrupted."""
        given = {**self.variables, **SMALL, "campaign": campaign, **variables}
        return subprocess.Popen(
            ["ansible-playbook", "playbooks/bench.yml", "-e", json.dumps(given)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def records(self, campaign: str) -> dict[str, dict[str, Any]]:
        """Return the run records of a campaign by log."""
        paths = sorted((self.results / campaign).glob("logs/**/*.run.json"))
        return {record["log"]: record for record in (json.loads(p.read_text()) for p in paths)}

    def lack_python(self, framework: str, **variables: Any) -> None:
        """Provision one of the frameworks for a Python that no machine has."""
        missing = {"python": ["9.9"], "packages": [], "import": framework}
        done = self.run(
            "provision.yml", "--tags", "framework", **variables,
            framework_names=[framework], __framework_set=missing,
        )  # fmt: skip
        assert done.rc == 0, failures(done)
        assert sum(done.stats["changed"].values()) > 0

    def processes(self) -> list[Process]:
        """Return all that repeats have started and that lives."""
        return [process for process, _ in marked(str(self.state))]

    def running(self) -> list[str]:
        """Return the command lines of all that repeats have started and that lives."""
        return [process.command for process in self.processes()]


def events(runner: Any, action: str) -> list[dict[str, Any]]:
    """Return the results of every task of ``action`` that ended well."""
    return [
        event["event_data"]["res"]
        for event in runner.events
        if event["event"] == "runner_on_ok" and event["event_data"]["task_action"] == action
    ]


def ranks_of(text: str) -> list[dict[str, Any]]:
    """Return what each rank said of itself in a trainer's log."""
    said = [line.split(" rank ", 1)[1] for line in text.splitlines() if "[scalebench] rank" in line]
    return [json.loads(facts) for facts in said]


def places_of_ranks(text: str) -> list[tuple[int, str]]:
    """Return rank and node of each rank."""
    return [(rank["rank"], rank["node"]) for rank in ranks_of(text)]


def failures(runner: Any) -> str:
    """Return the messages of all failed tasks."""
    return "\n".join(
        str(event["event_data"]["res"].get("msg"))
        for event in runner.events
        if event["event"] in ("runner_on_failed", "runner_on_unreachable")
    )


def wait_until(condition: Callable[[], Any], patience: float = 60) -> None:
    """Wait for a condition."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield provisioned nodes; end them after the last test."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    made = Cluster(tmp_path_factory.mktemp("cluster"), tmp_path_factory.mktemp("results"))
    try:
        provisioned = made.run("provision.yml")
        assert provisioned.rc == 0, failures(provisioned)
        yield made
    finally:
        ended = made.run("teardown.yml")
    assert ended.rc == 0, failures(ended)
    assert made.running() == []


def interrupt(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """Signal ansible-playbook alone, as a terminal or an out-of-memory killer would."""
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=60)
    return out
