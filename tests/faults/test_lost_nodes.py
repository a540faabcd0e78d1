"""Nodes that are lost, come back, answer no more or are full: the endings, and the resume."""

import contextlib
import os
import signal
import subprocess

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import descendants
from faulted_campaigns import SLEPT, TWO, ending, finish, resume, wait_for_training
from live_processes import alive
from local_nodes import TIMED_STEPS, events, failures, wait_until


@pytest.fixture
def sshd2(cluster):
    """The sshd of node2, which runs again after the test."""
    sshd = Sshd(cluster.state / "nodes/node2/sshd")
    yield sshd
    sshd.start()


class Sshd:
    """The sshd of a node by the folder of its configuration."""

    def __init__(self, folder):
        self.folder = folder

    @property
    def pid(self):
        """The process that listens."""
        return int((self.folder / "sshd.pid").read_text())

    def start(self):
        """Start it unless it runs."""
        if not alive(self.pid):
            configuration = ["-f", self.folder / "sshd_config", "-E", self.folder / "sshd.log"]
            subprocess.run(["/usr/sbin/sshd", *configuration], check=True)

    def kill(self):
        """Kill it with all its sessions."""
        # Else a session that begins meanwhile would keep the node reachable.
        os.kill(self.pid, signal.SIGSTOP)
        try:
            wait_until(self._killed_sessions)
        finally:
            os.kill(self.pid, signal.SIGKILL)

    def _killed_sessions(self):
        # Children of the sshd have its own command line at first; what they start has another.
        sessions = [
            child
            for child in descendants(self.pid)
            if child.parent == self.pid or child.command.startswith("sshd")
        ]
        # Children first, since they end with their parents.
        for session in reversed(sessions):
            with contextlib.suppress(ProcessLookupError):
                os.kill(session.pid, signal.SIGKILL)
        return sessions == []


def lose_in_training(cluster, sshd, campaign):
    """Kill the sshd of a node while the node trains beside node1."""
    wait_until(lambda: len(cluster.records(campaign)) == 1)
    wait_until(lambda: set(cluster.ranks()) == {"node1", "node2"})
    sshd.kill()


def test_a_node_that_is_lost_costs_only_what_needs_it(cluster, sshd2, monkeypatch):
    options = {**TWO, "topology": "1n1g,2n1g", "repeats": 2}
    with monkeypatch.context() as setting:
        # Of the user's other playbooks.
        setting.setenv("ANSIBLE_ANY_ERRORS_FATAL", "true")
        playbook = cluster.start_bench("lost", **options)
    lose_in_training(cluster, sshd2, "lost")
    code, out = finish(playbook)
    assert code != 0
    endings = {log.split("/")[3] + log[-5]: record["ending"]
               for log, record in cluster.records("lost").items()}  # fmt: skip
    assert endings == {"1n1g1": "ok", "1n1g2": "ok", "2n1g1": "launch_failed",
                       "2n1g2": "unavailable"}  # fmt: skip
    assert "node2: unreachable" in out
    assert "node2: lost at 20" in out
    report = (cluster.results / "lost/report.md").read_text()
    assert "node2: lost at 20" in report
    wait_until(lambda: cluster.running() == [], 60)

    # A node that is unreachable from the start is refused before anything runs.
    refused = cluster.bench(campaign="lost", **options)
    assert refused.rc != 0
    assert f"node2: 127.0.0.3 port {cluster.port('ssh')} cannot be reached" in failures(refused)
    assert events(refused, "training_runs") == []
    # Also where no repeat would need it.
    both = ("--limit", "node1,node2")
    refused = cluster.bench(*both, campaign="unneeded", **{**options, "topology": "1n1g"})
    assert refused.rc != 0
    assert "node2: 127.0.0.3 port" in failures(refused)
    assert "Nothing runs, because node2 cannot take part, as said above." in failures(refused)
    assert not (cluster.results / "unneeded").exists()


def test_a_node_that_is_back_before_the_end_is_used_again(cluster, sshd2):
    retry = {"campaign_retry": {"attempts": 2}}
    options = {**TWO, **SLEPT, **retry, "topology": "1n1g,2n1g", "repeats": 2}
    playbook = cluster.start_bench("back", **options)
    lose_in_training(cluster, sshd2, "back")
    wait_until(lambda: len(cluster.records("back")) == 2)
    sshd2.start()
    code, out = finish(playbook)
    assert code == 0, out
    records = cluster.records("back")
    assert [record["ending"] for record in records.values()] == ["ok"] * 4
    kept = sorted((cluster.results / "back").glob("logs/**/*.attempt*.json"))
    assert [path.name[-len("1.attempt1.json") :] for path in kept] == [
        "1.attempt1.json",
        "2.attempt1.json",
    ]


def test_a_node_that_answers_no_more_is_given_up_by_the_controller(cluster):
    playbook = cluster.start_bench(
        "frozen", **{**TWO, **SLEPT, "iterations": 20000}, cell_timeout=15, cell_grace=4
    )
    supervisor = wait_for_training(cluster, "frozen", {"node1", "node2"})["node2"].parent
    os.kill(supervisor, signal.SIGSTOP)
    try:
        assert finish(playbook)[0] != 0
        (record,) = cluster.records("frozen").values()
        assert record["ending"] == "timeout"
        reason = "the node gave no answer within 15 s and 4 s more"
        assert record["nodes"]["node2"]["reason"] == reason
    finally:
        os.kill(supervisor, signal.SIGCONT)
    wait_until(lambda: cluster.running() == [], 60)


@pytest.fixture
def full_disk(cluster):
    """Yield node2's folder of runs on a full file system; mounting it needs root."""
    runs = cluster.state / "nodes/node2/runs"
    runs.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", runs],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a file system cannot be mounted here: {mounted.stderr.strip()}")
    with (runs / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(1024))
    yield runs
    if runs.is_mount():
        subprocess.run(["umount", "-l", runs], check=True)


def test_a_full_disk_is_named(cluster, full_disk):
    options = {**TWO, **TIMED_STEPS}
    broken = cluster.bench(campaign="full", **options)
    assert broken.rc != 0
    kind, reason = ending(cluster, "full")
    named = ("node2" in reason, "No space left on device" in reason)
    assert (kind, *named) == ("launch_failed", True, True)
    assert cluster.running() == []
    subprocess.run(["umount", "-l", full_disk], check=True)
    resume(cluster, "full", options)
