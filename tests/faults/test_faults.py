"""Faults of processes, logs and ranks: the recorded ending, no stray process, and the resume.

What the framework or its launcher has a part in happens to real training; what only the supervisors
and the controller see, to a stand-in whose steps are slept.
"""

import os
import signal

import pytest
import yaml
from ansible_collections.scalebench.core.plugins.module_utils.node.processes import environment
from ansible_collections.scalebench.core.plugins.module_utils.node.runs import marked
from faulted_campaigns import SLEPT, TWO, ending, finish, resume, wait_for_training
from local_nodes import ROOT, failures, interrupt, wait_until


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
    # The last of the ranks begins before the first has done its steps, on a busy machine too.
    playbook = cluster.start_bench("neighbour", **{**SIDE_BY_SIDE, "iterations": 4000})
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
    wait_until(lambda: cluster.running() == [], 60)
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


def test_a_batch_beyond_the_memory_rules_out_larger_ones(cluster):
    options = {**TWO, "topology": "1n1g", "iterations": 2, "cell_memory_mib": 1800}
    broken = cluster.bench(campaign="memory", **{**options, "batch_size_per_device": "2,512,2048"})
    assert broken.rc != 0
    endings = {record["cell"]["batch_size_per_device"]: (record["ending"], record["reason"])
               for record in cluster.records("memory").values()}  # fmt: skip
    assert endings[2] == ("ok", "")
    assert endings[512][0] == "out_of_memory"
    assert endings[2048] == ("skipped", "out of memory at 512")
