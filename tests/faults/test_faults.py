"""Real faults: the recorded ending, no stray process, and the resume.

What the framework or its launcher has a part in happens to real training; what only the supervisors
and the controller see, to a stand-in whose steps are slept.
"""

import contextlib
import os
import signal
import subprocess

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import (
    descendants,
    environment,
)
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import marked
from live_processes import alive
from local_nodes import ROOT, TIMED_STEPS, events, failures, interrupt, wait_until

TWO = {"topology": "2n1g", "iterations": 15, "campaign_retry": {"attempts": 1}}
# 10 s of steps.
SLEPT = {**TIMED_STEPS, "iterations": 2000}


def ending(cluster, campaign):
    """Return ending and reason of the only repeat of a campaign."""
    (record,) = cluster.records(campaign).values()
    return record["ending"], record["reason"]


def resume(cluster, campaign, options):
    """Run the campaign again without the fault and require that every repeat is ok."""
    resumed = cluster.bench(campaign=campaign, **options)
    assert resumed.rc == 0, failures(resumed)
    assert {record["ending"] for record in cluster.records(campaign).values()} == {"ok"}
    assert cluster.running() == []


def wait_for_training(cluster, campaign, nodes):
    """Wait until all nodes train and the third iteration is printed; return the ranks by node."""
    logs = f"node1/runs/{campaign}/**/*_1.log"
    wait_until(
        lambda: any("iteration 3 " in p.read_text() for p in cluster.state.glob(f"nodes/{logs}")),
    )
    # Ranks of the stand-in do not wait for each other.
    wait_until(lambda: set(cluster.ranks()) == nodes)
    return cluster.ranks()


def finish(playbook):
    """Wait for a background ansible-playbook; return its exit status and output."""
    out, _ = playbook.communicate(timeout=400)
    return playbook.returncode, out


@pytest.mark.parametrize("what", ["rank", "torchrun"])
def test_a_killed_process_is_a_crash_and_takes_the_others_with_it(cluster, what):
    campaign = f"killed-{what}"
    playbook = cluster.start_bench(campaign, **{**TWO, "iterations": 4000})
    rank = wait_for_training(cluster, campaign, {"node1", "node2"})["node2"]
    os.kill(rank.pid if what == "rank" else rank.parent, signal.SIGKILL)
    code, out = finish(playbook)
    assert code != 0
    assert ending(cluster, campaign)[0] == "crashed"
    assert f"{campaign}" in out
    assert "2n1g/r50_b2_fp32_1.log: crashed: node" in out
    assert cluster.running() == []


# Each of the two repeats uses one of the two devices of every node.
SIDE_BY_SIDE = {
    "topology": "4n1g",
    "repeats": 2,
    "campaign_cpu_processes": 2,
    "packing": "devices",
    "campaign_retry": {"attempts": 1},
    **SLEPT,
}


def test_a_repeat_that_crashes_leaves_its_neighbour_on_the_same_nodes_alone(cluster):
    playbook = cluster.start_bench("neighbour", **SIDE_BY_SIDE)
    wait_until(lambda: len(list(ranks_of(cluster))) == 8)
    victim = next(process for process, run in ranks_of(cluster) if run.endswith("_2"))
    os.kill(victim.pid, signal.SIGKILL)
    code, out = finish(playbook)
    assert code != 0, out
    endings = {log[-5]: record["ending"] for log, record in cluster.records("neighbour").items()}
    assert {endings["1"], endings["2"]} == {"ok", "crashed"}
    assert cluster.running() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda n: n.name)
def test_repeats_side_by_side_end_with_their_ansible_playbook(cluster, number):
    campaign = f"side-by-side-{number.name}"
    playbook = cluster.start_bench(campaign, **{**SIDE_BY_SIDE, "iterations": 20000})
    wait_until(lambda: len(list(ranks_of(cluster))) == 8)
    if number == signal.SIGINT:
        refuse_others(cluster, campaign)
    interrupt(playbook, number)
    wait_until(lambda: cluster.running() == [], 20)
    assert cluster.records(campaign) == {}


def refuse_others(cluster, first):
    """Require that what needs its nodes is told of the first campaign, and leaves its ranks."""
    for refused in (cluster.bench(campaign="second", **TWO), cluster.run("teardown.yml")):
        assert refused.rc != 0
        assert f"campaign {first} has been running on node1 since" in failures(refused)
    assert not (cluster.results / "second").exists()
    assert len(list(ranks_of(cluster))) == 8


def ranks_of(cluster):
    """Yield each training rank with the run it belongs to."""
    for process, run in marked(str(cluster.state)):
        if "LOCAL_RANK" in environment(process):
            yield process, run


def test_a_retry_settles_what_crashed_once(cluster):
    options = {**TWO, **SLEPT, "campaign_retry": {"attempts": 2}}
    playbook = cluster.start_bench("retried", **options)
    os.kill(wait_for_training(cluster, "retried", {"node1", "node2"})["node2"].pid, signal.SIGKILL)
    code, out = finish(playbook)
    assert code == 0, out
    assert "again: timed_steps/bz2/2n1g/timed_b2_fp32_1: crashed: attempt 2 of 2 follows" in out
    assert ending(cluster, "retried") == ("ok", "")
    (kept,) = (cluster.results / "retried").glob("logs/**/*.attempt1.json")
    assert '"ending": "crashed"' in kept.read_text()


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
    wait_until(lambda: cluster.running() == [], 20)

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


def faulty(tmp_path, *faults):
    """Return the options of a campaign that injects one of the faults into each repeat."""
    content = yaml.safe_load((ROOT / "benchmarks/pytorch.yml").read_text())
    recipe = content["recipes"]["portable"]
    recipe["workload"] = "faulty.py"
    recipe["environment"] = {
        "SCALEBENCH_FAULTS": " ".join(faults),
        "SCALEBENCH_FAULTS_STRUCK": str(tmp_path / "struck"),
    }
    (tmp_path / "struck").mkdir()
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/pytorch.yml").write_text(yaml.safe_dump(content))
    return {
        "campaign_benchmarks_dir": str(tmp_path / "benchmarks"),
        "campaign_workload_dir": str(ROOT / "tests/faults/workloads"),
    }


# Fault, ending of the repeat, part of its reason.
FAULTS_OF_A_RANK = [
    ("sleep:1:3", "stalled", "no output for 30 s"),
    ("deaf:1:3", "stalled", "no output for 30 s"),
    ("nan:1:3", "nan_loss", "the loss of iteration 3 is nan"),
    ("half_line:0:3", "crashed", "node2"),
    ("clock:0:8", "invalid", "rate_times_time"),
]


def test_a_rank_that_goes_wrong_ends_the_repeat_and_not_the_campaign(cluster, tmp_path):
    faults = [fault for fault, _, _ in FAULTS_OF_A_RANK]
    options = {**TWO, **faulty(tmp_path, *faults), "cell_stall": 30, "repeats": len(faults)}
    broken = cluster.bench(campaign="wrong-rank", **options)
    assert broken.rc != 0
    records = sorted(cluster.records("wrong-rank").items())
    for (log, record), (fault, expected, reason) in zip(records, FAULTS_OF_A_RANK, strict=True):
        assert (record["ending"], reason in record["reason"]) == (expected, True), (fault, record)
        assert f"{log}: {expected}: " in failures(broken)
    assert cluster.running() == []


def test_a_log_that_stops_in_mid_line_is_no_result(cluster, tmp_path):
    options = {**TWO, "topology": "1n1g", **faulty(tmp_path, "half_line:0:3")}
    broken = cluster.bench(campaign="midline", **options)
    assert broken.rc != 0
    kind, reason = ending(cluster, "midline")
    assert kind == "invalid"
    assert reason.startswith("the log is truncated: ")
    resume(cluster, "midline", options)


def test_the_time_limit_holds(cluster):
    options = {**TWO, **SLEPT, "iterations": 20000}
    broken = cluster.bench(campaign="limit", cell_timeout=9, **options)
    assert broken.rc != 0
    assert ending(cluster, "limit")[0] == "timeout"
    assert "not done after 9 s" in ending(cluster, "limit")[1]
    assert cluster.running() == []


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
    wait_until(lambda: cluster.running() == [], 20)


def test_a_batch_beyond_the_memory_rules_out_larger_ones(cluster):
    options = {**TWO, "topology": "1n1g", "iterations": 2, "cell_memory_mib": 1800}
    broken = cluster.bench(campaign="memory", **{**options, "batch_size_per_device": "2,512,2048"})
    assert broken.rc != 0
    endings = {record["cell"]["batch_size_per_device"]: (record["ending"], record["reason"])
               for record in cluster.records("memory").values()}  # fmt: skip
    assert endings[2] == ("ok", "")
    assert endings[512][0] == "out_of_memory"
    assert endings[2048] == ("skipped", "out of memory at 512")


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
