"""Real faults of Slurm, of nodes and of processes in the middle of a campaign's repeats.

The ranks are stand-ins that wait (``tests/benchmarks/workloads/fixed_time.py``); Slurm, its faults,
bench.yml and the supervisors on the nodes are real.
"""

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import slurm_cluster as slurm
from slurm_cluster import alice, root, wait_for

REPEATS = {"topology": "4n1g", "campaign_retry": {"attempts": 1}}
NAMES = [f"node{number}" for number in range(1, 5)]
FOLDER = "fixed_time/bz1/4n1g/fixed_time_b1_fp32_"


@pytest.fixture(scope="module", autouse=True)
def installed():
    """Bring Scalebench to the user's home folder."""
    slurm.install(seconds=8)


@pytest.fixture(autouse=True)
def idle():
    """Leave four idle nodes to the next test."""
    yield
    alice("scancel --user=alice")
    for name in NAMES:
        root(name, "systemctl start slurmd")
        wait_for(lambda name=name: slurm.node_state(name), "idle")


class Bench:
    """A running bench.yml of alice's."""

    def __init__(self, campaign, **options):
        self.campaign = campaign
        self.process = subprocess.Popen(
            slurm.bench(campaign, {**REPEATS, **options}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def during(self, number):
        """Wait until the ranks of a repeat run on all nodes; return the pid of each by node."""
        run = f"SCALEBENCH_RUN=.*/{self.campaign}/{FOLDER}{number}$"
        pids = {}

        def all_run():
            assert self.process.poll() is None, self.process.stdout.read()
            pids.update(ranks(run))
            return set(pids)

        # Preflight and plan come first, on nodes that share this machine.
        wait_for(all_run, set(NAMES), 240)
        return pids

    def finish(self):
        """Return exit status and output; afterwards nothing is left on the nodes."""
        out, _ = self.process.communicate(timeout=300)
        wait_for(lambda: ranks("SCALEBENCH_RUN="), {}, 20)
        return self.process.returncode, out

    def endings(self):
        """Return ending and reason of the repeats by number."""
        found = {}
        logs = slurm.HOME / f"scalebench/results/{self.campaign}/logs"
        for path in logs.glob(f"{FOLDER}*.run.json"):
            record = json.loads(path.read_text())
            found[int(record["log"][:-4].rpartition("_")[2])] = record["ending"], record["reason"]
        return found


def ranks(run):
    """Return the pid of a process of a run on each node that has one; ``run`` is an expression."""
    look = f"grep -lzs '^{run}' /proc/[0-9]*/environ | cut -d/ -f3"
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda name: root(name, look).split(), NAMES)
    return {name: pids[0] for name, pids in zip(NAMES, found, strict=True) if pids}


def test_what_fails_within_a_job_costs_one_repeat():
    bench = Bench("within", repeats=6)
    root("node2", f"kill -9 {bench.during(1)['node2']}")
    rank = bench.during(2)["node3"]
    root("node3", f"kill -9 $(ps -o ppid= -p {rank})")
    bench.during(3)
    steps = alice("squeue --noheader --steps --format='%i %N'").stdout.splitlines()
    step = next(line.split()[0] for line in steps if line.endswith(" node4") and "." in line)
    alice(f"scancel {step}")
    bench.during(4)
    root("login", "systemctl stop slurmctld")
    time.sleep(2)
    root("login", "systemctl start slurmctld")
    bench.during(5)
    slurm.set_state("node2", "drain")
    bench.during(6)
    slurm.set_state("node2", "resume")
    code, out = bench.finish()
    assert code, out
    found = bench.endings()
    assert {number: ending for number, (ending, _) in found.items()} == {
        1: "crashed", 2: "launch_failed", 3: "interrupted", 4: "ok", 5: "ok", 6: "ok",
    }, found  # fmt: skip
    assert found[1][1].startswith("node2: ") and "SIGKILL" in found[1][1]
    assert "node3" in found[2][1]
    assert "node4" in found[3][1] and "CANCELLED" in found[3][1]
    again = Bench("within", repeats=6)
    code, out = again.finish()
    assert code == 0, out
    assert {ending for ending, _ in again.endings().values()} == {"ok"}


def job_of(campaign):
    """Return the number of a campaign's job."""
    return alice(f"squeue --noheader --name=scalebench-{campaign} --format=%i").stdout.strip()


def cancel(job):
    """Cancel the job."""
    alice(f"scancel {job}")


def preempt(_job):
    """Ask for the nodes by a job of a partition that goes first."""
    assert alice("srun --partition=urgent --nodes=4 --exclusive true").returncode == 0


# Fault, part of the reason.
FAULTS_OF_A_JOB = [(cancel, "it was cancelled"), (preempt, "it was preempted")]


def test_a_campaign_goes_on_after_what_ends_its_job():
    for fault, words in FAULTS_OF_A_JOB:
        bench = Bench("jobs", repeats=1)
        bench.during(1)
        fault(job_of("jobs"))
        code, out = bench.finish()
        assert code, out
        ending, reason = bench.endings()[1]
        assert (ending, words in reason) == ("interrupted", True), reason
    last = Bench("jobs", repeats=1)
    code, out = last.finish()
    assert code == 0, out
    assert last.endings() == {1: ("ok", "")}


def test_memory_beyond_the_jobs_is_out_of_memory():
    sizes = {"topology": "1n1g", "batch_size_per_device": "1,2,3"}
    bench = Bench("memory", repeats=1, slurm_memory="250M", **sizes)
    code, out = bench.finish()
    logs = slurm.HOME / "scalebench/results/memory/logs"
    records = [json.loads(path.read_text()) for path in logs.rglob("*.run.json")]
    found = {record["cell"]["batch_size_per_device"]: record for record in records}
    endings = {size: record["ending"] for size, record in found.items()}
    assert code, out
    assert endings == {1: "ok", 2: "out_of_memory", 3: "skipped"}, out
    reason = found[2]["reason"]
    assert reason.startswith("node1: Slurm job "), reason
    assert "exceeded memory limit" in reason
