"""Real faults of Slurm, of nodes and of processes in the middle of a campaign's repeats.

The ranks are stand-ins that wait (``tests/benchmarks/workloads/fixed_time.py``); Slurm, its faults,
bench.yml and the supervisors on the nodes are real.
"""

import json
import os
import random
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import slurm_cluster as slurm
from ansible_collections.scalebench.core.plugins.module_utils.records.endings import ending_names
from slurm_cluster import alice, root, wait_for

REPEATS = {"topology": "4n1g", "campaign_retry": {"attempts": 1}}
NAMES = [f"node{number}" for number in range(1, 5)]
# Seconds in which a supervisor notices that nothing comes from its controller, and ends its ranks.
QUIET = 60 + 15
# The folder of node3 on which a full file system is mounted.
FULL = "/shared/home/alice/.scalebench/nodes/node3"
# What Bench has started.
STARTED = []


@pytest.fixture(scope="module", autouse=True)
def installed():
    """Bring Scalebench to the user's home folder."""
    slurm.install(seconds=8)


@pytest.fixture(autouse=True)
def idle():
    """Leave four idle nodes to the next test, also after a test that failed half-way."""
    yield
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            process.kill()
            process.communicate()
    root("login", "systemctl start slurmctld")
    alice("scancel --user=alice")
    for name in NAMES:
        root(name, f"umount {FULL} 2>/dev/null; systemctl start slurmd")
        if slurm.node_state(name).startswith(("drain", "down")):
            slurm.set_state(name, "resume")
        wait_for(lambda name=name: slurm.node_state(name), "idle")


class Bench:
    """A running bench.yml of alice's."""

    def __init__(self, campaign, **options):
        self.campaign = campaign
        self.nodes = int({**REPEATS, **options}["topology"][0])  # of the first cell
        self.process = subprocess.Popen(
            slurm.bench(campaign, {**REPEATS, **options}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        STARTED.append(self.process)

    def during(self, number):
        """Wait until the ranks of a repeat run on all nodes; return the pid of each by node."""
        run = f"SCALEBENCH_RUN=.*/{self.campaign}/.*_{number}$"
        pids = {}

        def all_run():
            assert self.process.poll() is None, self.process.stdout.read()
            pids.update(ranks(run))
            return len(pids)

        # Preflight and plan come first, on nodes that share this machine.
        wait_for(all_run, self.nodes, 240)
        return pids

    def any_ranks(self):
        """Wait for ranks or the end of the run; return a pid of each node that has one."""
        pids = {}

        def run():
            pids.update(ranks(f"SCALEBENCH_RUN=.*/{self.campaign}/"))
            return bool(pids) or self.process.poll() is not None

        wait_for(run, True, 240)
        return pids

    def finish(self, patience=20):
        """Return exit status and output; nothing is left on the nodes ``patience`` s later."""
        out, _ = self.process.communicate(timeout=300)
        wait_for(lambda: ranks("SCALEBENCH_RUN="), {}, patience)
        return self.process.returncode, out

    def endings(self):
        """Return ending and reason of the repeats of one cell by number."""
        return {
            int(log[:-4].rpartition("_")[2]): (record["ending"], record["reason"])
            for log, record in self.records().items()
        }

    def records(self):
        """Return the records of the repeats by their logs."""
        logs = slurm.HOME / f"scalebench/results/{self.campaign}/logs"
        records = [json.loads(path.read_text()) for path in logs.rglob("*.run.json")]
        return {record["log"]: record for record in records}


def ranks(run):
    """Return the pid of a process of a run on each node that has one; ``run`` is an expression."""
    look = f"grep -lzs '^{run}' /proc/[0-9]*/environ | cut -d/ -f3"
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda name: root(name, look).split(), NAMES)
    return {name: pids[0] for name, pids in zip(NAMES, found, strict=True) if pids}


def test_what_fails_within_a_job_costs_one_repeat():
    options = {"repeats": 9, "recipe": "deaf", "cell_stall": 15}
    bench = Bench("within", **options)
    root("node2", f"kill -9 {bench.during(1)['node2']}")
    rank = bench.during(2)["node3"]
    root("node3", f"kill -9 $(ps -o ppid= -p {rank})")
    bench.during(3)
    steps = alice("squeue --noheader --steps --format='%i %N'").stdout.splitlines()
    step = next(line.split()[0] for line in steps if line.endswith(" node4") and "." in line)
    alice(f"scancel {step}")
    bench.during(4)
    root("login", "systemctl kill --signal=KILL slurmctld")
    time.sleep(2)
    root("login", "systemctl restart slurmctld")
    bench.during(5)
    slurm.set_state("node2", "drain")
    bench.during(6)
    slurm.set_state("node2", "resume")
    root("node4", "kill -9 $(pidof slurmd)")
    time.sleep(2)
    root("node4", "systemctl restart slurmd")
    root("node1", f"kill -STOP {bench.during(7)['node1']}")
    bench.during(8)
    # The folder of a repeat that runs is lost, and there is no room for the next one's.
    root("node3", f"mount -t tmpfs -o size=4k,nr_inodes=1,uid={slurm.ALICE} full {FULL}")
    wait_for(lambda: 9 in bench.endings(), True)
    root("node3", f"umount {FULL}")
    code, out = bench.finish()
    assert code, out
    found = bench.endings()
    assert {number: ending for number, (ending, _) in found.items()} == {
        1: "crashed", 2: "launch_failed", 3: "interrupted", 4: "ok", 5: "ok", 6: "ok",
        7: "stalled", 8: "launch_failed", 9: "launch_failed",
    }, found  # fmt: skip
    assert found[1][1].startswith("node2: ") and "SIGKILL" in found[1][1]
    assert "node3" in found[2][1]
    assert "node4" in found[3][1] and "CANCELLED" in found[3][1]
    assert "no output for 15 s" in found[7][1]
    assert "node3" in found[9][1] and "No space left on device" in found[9][1]
    again = Bench("within", **options)
    code, out = again.finish()
    assert code == 0, out
    assert {ending for ending, _ in again.endings().values()} == {"ok"}


def kill(bench):
    """Kill ansible-playbook: its workers end their sruns, and these the steps."""
    root("login", "kill -9 $(pgrep -o -u alice -x python3)")
    bench.finish()


def vanish(bench):
    """Leave nothing that could end the steps: two sruns are stopped, all else is killed."""
    stopped = "pgrep -u alice -f '^srun.* --nodelist=node[12] '"
    root("login", f"kill -STOP $({stopped})")
    root("login", "kill -9 $(pgrep -u alice -x python3; pgrep -u alice -f '^srun.*=node[34] ')")
    wait_for(lambda: ranks("SCALEBENCH_RUN="), {}, QUIET)
    root("login", f"kill -9 $({stopped})")
    bench.finish()


def test_a_controller_that_is_gone_leaves_nothing_on_the_nodes():
    bench = Bench("killed", repeats=1, slurm_time="20")
    # The job keeps its nodes for ten minutes: the campaign goes on in it.
    job = None
    for fault in (kill, vanish):
        # Stopped ranks do not end by themselves.
        for name, pid in bench.during(1).items():
            root(name, f"kill -STOP {pid}")
        job = job or job_of("killed")
        fault(bench)
        assert not bench.endings()
        bench = Bench("killed", repeats=1, slurm_job=job)
    code, out = bench.finish()
    assert code == 0, out
    assert bench.endings() == {1: ("ok", "")}


def job_of(campaign):
    """Return the number of a campaign's job."""
    return alice(f"squeue --noheader --name=scalebench-{campaign} --format=%i").stdout.strip()


def cancel(job):
    """Cancel the job."""
    alice(f"scancel {job}")


def preempt(_job):
    """Ask for the nodes by a job of a partition that goes first."""
    assert alice("srun --partition=urgent --nodes=4 --exclusive true").returncode == 0


def limit(job):
    """Lower the time limit of the job to one minute; Slurm looks at limits twice a minute."""
    alice(f"scontrol update jobid={job} timelimit=1")


# Fault, part of the reason.
FAULTS_OF_A_JOB = [
    (cancel, "it was cancelled"),
    (preempt, "it was preempted"),
    (limit, "its time limit was reached"),
]


def test_a_campaign_goes_on_after_what_ends_its_job():
    # The last of these faults takes longer than a repeat.
    options = {"repeats": 12, "topology": "1n1g", "slurm_nodes": 4}
    for fault, words in FAULTS_OF_A_JOB:
        bench = Bench("jobs", **options)
        done = len([ending for ending, _ in bench.endings().values() if ending == "ok"])
        bench.during(done + 1)
        fault(job_of("jobs"))
        code, out = bench.finish()
        assert code, out
        *_, (ending, reason) = (told for _, told in sorted(bench.endings().items()))
        assert (ending, words in reason) == ("interrupted", True), reason
    last = Bench("jobs", **options)
    code, out = last.finish()
    assert code == 0, out
    assert last.endings() == dict.fromkeys(range(1, 13), ("ok", ""))


def test_a_campaign_goes_on_after_lost_nodes_and_on_others():
    options = {"repeats": 2, "topology": "3n1g"}
    bench = Bench("lost", **options)
    bench.during(1)
    # The first node of the job has the batch script.
    for name in ("node1", "node3"):
        root(name, "systemctl kill --signal=KILL slurmd; systemctl stop slurmd")
    code, out = bench.finish(QUIET)
    assert code, out
    found = bench.endings()
    assert found[1][0] == "launch_failed", found
    root("node1", "systemctl start slurmd")
    wait_for(lambda: slurm.node_state("node1"), "idle")
    slurm.set_state("node3", "drain")
    try:
        again = Bench("lost", **options)
        code, out = again.finish()
    finally:
        slurm.set_state("node3", "resume")
    assert code == 0, out
    assert {ending for ending, _ in again.endings().values()} == {"ok"}
    report = (slurm.HOME / "scalebench/results/lost/report.md").read_text()
    assert "node3 was replaced by node4, of the same hardware" in report, report


def test_memory_beyond_the_jobs_is_out_of_memory():
    sizes = {"topology": "1n1g", "batch_size_per_device": "1,2,3"}
    bench = Bench("memory", repeats=1, slurm_memory="250M", **sizes)
    code, out = bench.finish()
    found = {r["cell"]["batch_size_per_device"]: r for r in bench.records().values()}
    endings = {size: record["ending"] for size, record in found.items()}
    assert code, out
    assert endings == {1: "ok", 2: "out_of_memory", 3: "skipped"}, out
    reason = found[2]["reason"]
    # Slurm gives any node.
    assert re.match(r"(node\d): Slurm job \d+ on \1: out of memory: ", reason), reason
    assert "exceeded memory limit" in reason


# Where, and what is run there as root; {pid} is a rank's.
RANDOM_FAULTS = [
    ("node", "kill -9 {pid}"),
    ("node", "kill -9 $(ps -o ppid= -p {pid})"),
    ("node", "kill -STOP {pid}"),
    ("node", "kill -9 $(pidof slurmd); sleep 1; systemctl restart slurmd"),
    ("login", "systemctl kill --signal=KILL slurmctld; sleep 1; systemctl restart slurmctld"),
    ("login", "kill -9 $(pgrep -o -u alice -x python3)"),
    ("login", "kill -9 $(pgrep -u alice -x srun | head -n 1)"),
    ("login", "scancel --user=alice"),
    ("login", "scancel $(squeue --noheader --steps --format=%i | grep -v batch | head -n 1)"),
]


@pytest.mark.parametrize("seed", range(int(os.environ.get("TESTBED_CAMPAIGNS", "0"))))
def test_a_random_campaign_with_random_faults_ends_complete(seed):
    rng = random.Random(seed)
    name = f"random{seed}"
    options = {
        "topology": ",".join(rng.sample(["1n1g", "2n1g", "3n1g", "4n1g"], 2)),
        "repeats": rng.randint(1, 2),
        "packing": rng.choice(["none", "nodes"]),
        "recipe": rng.choice(["portable", "deaf"]),
        "campaign_retry": {"attempts": rng.randint(1, 2)},
        # A stopped rank beyond the first is silent until then.
        "cell_timeout": 25,
        "cell_stall": 15,
        "slurm_nodes": 4,
    }
    for faults in (rng.randint(1, 2), rng.randint(0, 2), 0):
        # A job that outlives its ansible-playbook keeps the nodes.
        job = job_of(name)
        bench = Bench(name, **options, **({"slurm_job": job} if job else {}))
        for place, command in rng.choices(RANDOM_FAULTS, k=faults):
            found = bench.any_ranks()
            time.sleep(rng.uniform(0, 4))
            if found:
                node, pid = rng.choice(sorted(found.items()))
                print(f"seed {seed}: {node if place == 'node' else place}: {command}")
                root(node if place == "node" else place, command.format(pid=pid) + "; true")
        code, out = bench.finish(QUIET)
        for record in bench.records().values():
            assert record["ending"] in ending_names(), record
            assert record["reason"] or record["ending"] == "ok", record
    assert code == 0, out
    cells = json.loads((slurm.HOME / f"scalebench/results/{name}/plan.json").read_text())["cells"]
    records = bench.records()
    assert {record["ending"] for record in records.values()} == {"ok"}
    # Where cells ran beside each other, one repeat is measured alone for comparison.
    planned = [log for log in records if "_alone." not in log]
    assert len(planned) == len(cells) * options["repeats"]
