"""bench.yml on local nodes: a campaign that is resumed, refused and interrupted.

Its steps are slept: the same campaign of real training is in test_collectives.py.
"""

import json
import re
import shutil
import signal
import statistics
import subprocess
from pathlib import Path

import pytest
from local_nodes import ROOT, TIMED_STEPS, WHOLE, events, failures, interrupt, wait_until

LINE = re.compile(r"^iteration (\d+) .*throughput ([0-9.]+) images/s", re.MULTILINE)
TOPOLOGIES = ("1n1g", "2n1g", "4n1g")


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Return the options of the campaign, whose trainer lies in a folder of its own."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "workloads").symlink_to(ROOT / "workloads")
    trainers = folder / "tests/integration/workloads"
    shutil.copytree(ROOT / "tests/integration/workloads", trainers)
    topology = {"topology": ",".join(TOPOLOGIES)}
    return {**TIMED_STEPS, **topology, "workload_dir": str(trainers), "campaign": "measured"}


@pytest.fixture(scope="module")
def measured(cluster, own):
    """Run a small campaign over all topologies; return its runner."""
    runner = cluster.bench(**own, **WHOLE)
    assert runner.rc == 0, failures(runner)
    return runner


def test_every_repeat_has_a_log_a_record_and_its_nodes_output(cluster, measured):
    folder = cluster.results / "measured"
    assert [record["ending"] for record in cluster.records("measured").values()] == ["ok"] * 3
    for topology in TOPOLOGIES:
        assert (folder / f"logs/timed_steps/bz2/{topology}/timed_b2_fp32_1.log").exists()
    assert (folder / "logs/timed_steps/bz2/4n1g/timed_b2_fp32_1.node4.out").exists()


def test_the_figures_are_those_of_the_logs_by_hand(cluster, measured):
    folder = cluster.results / "measured"
    facts = json.loads((folder / "results.json").read_text())["facts"]["timed_steps"]["fp32"]["bz2"]
    assert set(facts["timed"]) == set(TOPOLOGIES)
    by_hand = {}
    for topology in TOPOLOGIES:
        log = (folder / f"logs/timed_steps/bz2/{topology}/timed_b2_fp32_1.log").read_text()
        printed = [float(value) for step, value in LINE.findall(log) if int(step) > 1]
        assert len(printed) == 3
        by_hand[topology] = round(statistics.fmean(printed) * 100) / 100
        assert facts["timed"][topology] == {
            "average_speed": by_hand[topology],
            "batch_size_per_device": 2,
            "median_speed": by_hand[topology],
            "speedup": round(by_hand[topology] / by_hand["1n1g"] * 100) / 100,
        }
    assert len(set(by_hand.values())) == 3


def test_repeats_that_oversubscribe_the_cores_are_marked(cluster, measured):
    marks = {
        record["cell"]["topology"]: (record["oversubscribed"], record["cell"]["nodes"])
        for record in cluster.records("measured").values()
    }
    plan = json.loads((cluster.results / "measured/plan.json").read_text())
    cores = plan["nodes"]["node1"]["cores"]
    assert all(mark == (nodes > cores) for mark, nodes in marks.values())


def test_report_and_table_are_there(cluster, measured):
    folder = cluster.results / "measured"
    for name in ("results.csv", "report.md", "throughput.svg", "speedup.svg"):
        assert (folder / name).stat().st_size > 200, name
    shown = "\n".join(
        str(result.get("msg")) for result in events(measured, "ansible.builtin.debug")
    )
    assert "speedup" in shown
    assert "node_num" in shown
    assert str(folder / "report.md") in shown


def of_name(own):
    """Return what goes on with a campaign: its name, and where its files are."""
    return {key: own[key] for key in ("campaign", "campaign_benchmarks_dir", "workload_dir")}


def test_a_campaigns_name_is_enough_and_a_complete_one_runs_nothing_again(cluster, own, measured):
    before = {log: record["started"] for log, record in cluster.records("measured").items()}
    given = json.dumps({**cluster.variables, **of_name(own)})
    playbook = cluster.start(["ansible-playbook", "playbooks/bench.yml", "-e", given])
    out, _ = playbook.communicate(timeout=400)
    assert playbook.returncode == 0, out
    assert {log: r["started"] for log, r in cluster.records("measured").items()} == before
    lines = out.splitlines()
    assert lines[:2] == ["Benchmark the cluster", "Campaign measured: all 3 repeats are done"]
    assert "Report the campaign" in lines
    assert "WARNING" not in out
    assert max(map(len, lines)) <= 100 or "Report: " in max(lines, key=len)


def test_a_part_of_the_nodes_runs_what_it_can_and_all_the_rest_with_a_changed_trainer(
    cluster, own, measured
):
    logs = cluster.results / "measured/logs/timed_steps/bz2"
    for topology in ("1n1g", "4n1g"):
        (logs / topology / "timed_b2_fp32_1.run.json").unlink()
    half_written = logs / "1n1g/timed_b2_fp32_1.log"
    half_written.write_text(half_written.read_text()[:500])
    part = cluster.bench("--limit", "node1,node2", **own)
    assert part.rc != 0
    assert "node[3-4]: it is not in this run (--limit)" in failures(part)
    endings = {log.split("/")[3]: r["ending"] for log, r in cluster.records("measured").items()}
    assert endings == {"1n1g": "ok", "2n1g": "ok", "4n1g": "unavailable"}
    assert len(LINE.findall(half_written.read_text())) == 4
    with Path(own["workload_dir"], "timed_steps.py").open("a") as trainer:
        trainer.write("# Changed.\n")
    refused = cluster.bench(**own)
    assert "what it measures changed since it was planned: trainer" in failures(refused)
    assert "timed_steps.py changed. Restore it" in failures(refused)
    assert events(refused, "training_runs") == []
    whole = cluster.bench(**own, accept_changes=True)
    assert whole.rc == 0, failures(whole)
    assert len(events(whole, "repeat_record")) == 1
    assert {record["ending"] for record in cluster.records("measured").values()} == {"ok"}
    report = (cluster.results / "measured/report.md").read_text()
    assert "timed_steps.py changed" in report


def test_check_mode_shows_the_plan_and_runs_nothing(cluster):
    checked = cluster.bench("--check", campaign="never", precision="fp32,amp")
    assert checked.rc == 0, failures(checked)
    shown = "\n".join(str(result.get("msg")) for result in events(checked, "ansible.builtin.debug"))
    assert "6 cell(s), 6 repeat(s), 6 to run in about" in shown
    assert "pytorch/bz2/4n1g/r50_b2_amp_1.log" in shown
    assert "--node-rank=[0-3]" in shown
    assert events(checked, "training_runs") == []
    assert not (cluster.results / "never").exists()


def test_parts_are_left_out_by_their_tags_and_the_report_says_so(cluster):
    skipped = ("--skip-tags", "preflight,comparison,gate")
    run = cluster.bench(
        *skipped, campaign="skipped", topology="1n1g", preflight=True, **TIMED_STEPS
    )
    assert run.rc == 0, failures(run)
    (record,) = cluster.records("skipped").values()
    assert record["ending"] == "ok"
    report = (cluster.results / "skipped/report.md").read_text()
    assert "The preflight was turned off (-e preflight=false or --skip-tags preflight)" in report


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (
            {"precision": "fp8"},
            "there is no precision 'fp8'; the choices are fp32, tf32, amp, bf16",
        ),
        ({"topology": "9n1g"}, "the inventory has 4 (node[1-4])"),
        ({"data": "real"}, "no data set is known on node1"),
        ({"precison": "amp"}, "did you mean 'precision'?"),
        ({"campaign": "../x"}, "a campaign's name is a folder's name"),
        # As text: so -e name=value gives it.
        ({"campaign_free_mib": "1000000000"}, "MiB are free"),
        (
            {"framework_python": "/no/python"},
            "node1: the interpreter of pytorch, /no/python: there",
        ),
        (
            {"campaign": "measured", "repeats": 2},
            "was made with another plan: timed_steps/bz2/1n1g",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_input_ends_before_anything_runs(cluster, own, measured, variables, expected):
    # One node, for time, but where the measured campaign is asked for.
    least = own if "repeats" in variables else {"campaign": "refused", "topology": "1n1g"}
    refused = cluster.bench(**{**least, **variables})
    assert refused.rc != 0
    assert expected in " ".join(failures(refused).split())
    assert events(refused, "training_runs") == []
    assert not (cluster.results / "refused").exists()


def test_a_node_that_cannot_be_reached_is_named(cluster, tmp_path):
    port = cluster.port("spare")
    refused = cluster.bench(campaign="refused", cluster_ssh_port=port)
    assert refused.rc != 0
    assert f"node1: 127.0.0.2 port {port} cannot be reached" in failures(refused)
    assert "provision.yml" in failures(refused)


def test_a_repeat_that_crashes_is_a_result_and_the_rest_runs(cluster, tmp_path):
    runner = cluster.bench(
        campaign="crash",
        data="real,synthetic",
        precision="amp",
        topology="1n1g",
        scalebench_data_dir=str(tmp_path),
        preflight=True,
        preflight_accepted={"node1": ["dataset"]},
    )
    records = cluster.records("crash")
    endings = {log.split("/")[2]: record["ending"] for log, record in records.items()}
    assert endings == {"bz2-real": "crashed", "bz2": "ok"}
    assert runner.rc != 0
    assert (
        "bz2-real/1n1g/r50_b2_amp_1.log: crashed: node1: exit code 1: train_pytorch.py: error:"
        in (failures(runner))
    )
    results = json.loads((cluster.results / "crash/results.json").read_text())
    facts = results["facts"]["pytorch"]["amp"]
    assert facts["bz2-real"]["r50"]["1n1g"]["median_speed"] is None
    assert facts["bz2"]["r50"]["1n1g"]["median_speed"] > 0
    # On a CPU, amp is bf16.
    header = (cluster.results / "crash/logs/pytorch/bz2/1n1g/r50_b2_amp_1.log").read_text()
    assert '"precision":"amp"' in header and '"autocast_dtype":"bfloat16"' in header
    rows = json.loads((cluster.results / "crash/preflight.json").read_text())["rows"]
    assert [row["node"] for row in rows if row["check"] == "bf16 on the CPU"] == ["node1"]


def test_a_campaign_of_a_killed_controller_leaves_nothing_running_and_goes_on(cluster):
    campaign = "interrupted"
    # 8 s of steps, within which both nodes train and the controller is killed.
    options = {**TIMED_STEPS, "topology": "1n1g,2n1g", "iterations": 1600}
    playbook = cluster.start_bench(campaign, **options)
    # One repeat is done, the second one's two nodes are training.
    wait_until(lambda: len(cluster.records(campaign)) == 1)
    wait_until(lambda: set(cluster.ranks()) == {"node1", "node2"})
    interrupt(playbook, signal.SIGKILL)
    wait_until(lambda: cluster.running() == [], 60)
    first = cluster.records(campaign)
    assert len(first) == 1

    resumed = cluster.bench(campaign=campaign, **options)
    assert resumed.rc == 0, failures(resumed)
    assert len(events(resumed, "repeat_record")) == 1
    records = cluster.records(campaign)
    assert [record["ending"] for record in records.values()] == ["ok", "ok"]
    assert first.items() <= records.items()


def test_of_two_controllers_the_second_is_refused_and_runs_when_the_first_has_ended(cluster):
    """Each in a container, with results of its own; neither sees the other's processes."""
    container = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    tried = subprocess.run([*container, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no pid namespace can be made here: {tried.stderr.strip()}")
    folders = {name: cluster.results.parent / f"{cluster.results.name}-{name}" for name in "ab"}

    def start(name):
        # Of the first steps of 5 ms for 20 s, beside which the second is refused.
        steps = 4000 if name == "a" else 3
        own = {"topology": "2n1g", "iterations": steps, "campaign_results_dir": str(folders[name])}
        return cluster.start_bench(f"by-{name}", container, **TIMED_STEPS, **own)

    with start("a") as first:
        try:
            wait_until(lambda: len([*cluster.state.glob("nodes/*/claim.json")]) == 2)
            with start("b") as second:
                out, _ = second.communicate(timeout=400)
            assert second.returncode == 2, out
            assert "campaign by-a has been running on node1 since" in out
            assert "Giving back" not in out
            assert not (folders["b"] / "by-b").exists()
            out, _ = first.communicate(timeout=400)
        finally:
            # With all that it started in the container.
            first.kill()
    assert first.returncode == 0, out
    with start("b") as second:
        out, _ = second.communicate(timeout=400)
    assert second.returncode == 0, out
    for name, folder in folders.items():
        results = json.loads((folder / f"by-{name}/results.json").read_text())
        assert results["counts"]["ok"] == 1
    assert [*cluster.state.glob("nodes/*/claim.json")] == []


def test_the_facts_are_there_for_later_plays(cluster, own, measured):
    runner = cluster.run("../tests/integration/playbooks/use_facts.yml", **of_name(own))
    assert runner.rc == 0, failures(runner)
