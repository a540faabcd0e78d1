"""MPI ranks that srun starts in a campaign, and what ends them; ``mpi_sum.py`` is a stand-in."""

import json
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import slurm_cluster as slurm
from slurm_cluster import alice, root, wait_for

NAMES = [f"node{number}" for number in range(1, 5)]
RANKS_PER_NODE = 2
BENCHMARK = """\
---
benchmark: mpi_sum
model: mpi_sum
recipes:
  portable:
    framework: none
    launcher: mpirun
    launcher_options: {arguments: [-mca, coll_base_verbose, "0", -x, GIVEN=by the recipe]}
    program: ["{python}", /shared/home/alice/scalebench/tests/benchmarks/workloads/mpi_sum.py]
    choices: {precision: [fp32]}
    defaults:
      cpu:
        {precision: [fp32], batch_size_per_device: [1], topology: [1n1g], warmup: 2, iterations: 5}
    arguments: ["8", "{world_size}", "{total_iterations}"]
"""


@pytest.fixture(scope="module", autouse=True)
def installed():
    """Bring Scalebench and the benchmark to the user's home folder."""
    slurm.install(seconds=8)
    (slurm.HOME / "benchmarks/mpi_sum.yml").write_text(BENCHMARK)


@pytest.fixture(autouse=True)
def idle():
    """Leave four idle nodes to the next test."""
    yield
    alice("scancel --user=alice")
    for name in NAMES:
        wait_for(lambda name=name: slurm.node_state(name), "idle")


class Bench:
    """A running bench.yml of alice's with two MPI ranks on each node."""

    def __init__(self, campaign, **options):
        self.campaign = campaign
        given = {
            "benchmark": "mpi_sum",
            "workload_dir": "/shared/home/alice/scalebench/workloads",
            "topology": f"4n{RANKS_PER_NODE}g",
            "campaign_cpu_processes": RANKS_PER_NODE,
            "campaign_retry": {"attempts": 1},
            **options,
        }
        self.process = subprocess.Popen(
            slurm.bench(campaign, given), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def during(self, number):
        """Wait until the ranks of a repeat have added up; return the pids of each node's ranks."""
        log = f"mpi_sum_b1_fp32_{number}$"
        pids = {}

        def all_run():
            assert self.process.poll() is None, self.process.stdout.read()
            pids.update(processes(f"SCALEBENCH_RUN=.*/{self.campaign}/.*/{log}", "/mpi_sum.py"))
            return {name: len(found) for name, found in pids.items()}

        wait_for(all_run, dict.fromkeys(NAMES, RANKS_PER_NODE), 240)
        time.sleep(3)
        return pids

    def finish(self):
        """Return exit status and output; afterwards nothing is left on the nodes."""
        out, _ = self.process.communicate(timeout=400)
        wait_for(lambda: processes("SCALEBENCH_RUN="), {}, 20)
        return self.process.returncode, out

    def records(self):
        """Return the records of the repeats by number."""
        folder = slurm.HOME / f"scalebench/results/{self.campaign}/logs"
        found = [json.loads(path.read_text()) for path in folder.rglob("*_?.run.json")]
        return {int(record["log"][:-4].rpartition("_")[2]): record for record in found}

    def log(self, number):
        """Return the log of the leading node."""
        folder = slurm.HOME / f"scalebench/results/{self.campaign}"
        return (folder / self.records()[number]["log"]).read_text()


def processes(variable, program=""):
    """Return pids by node, of processes with such a variable (an expression) and command line."""
    look = f"for f in $(grep -lzs '^{variable}' /proc/[0-9]*/environ); do d=${{f%/environ}};"
    look += f" tr '\\0' ' ' < $d/cmdline | grep -q '^[^ ]*python[^ ]* [^ ]*{program}' &&"
    look += " echo ${d#/proc/}; done; true"
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda name: root(name, look).split(), NAMES))
    return {name: pids for name, pids in zip(NAMES, found, strict=True) if pids}


def step_of(node_list):
    """Return the id of the step on such nodes, in Slurm's form."""
    steps = alice("squeue --noheader --steps --format='%i %N'").stdout.splitlines()
    return next(line.split()[0] for line in steps if line.endswith(f" {node_list}"))


def test_ranks_are_in_the_order_of_the_nodes_and_what_fails_costs_one_repeat():
    bench = Bench("ranks", repeats=5)
    root("node3", f"kill -9 {bench.during(1)['node3'][0]}")
    bench.during(2)
    alice(f"scancel {step_of('node[1-4]')}")
    bench.during(3)
    srun = "pgrep -xo -u alice srun"
    root("node1", f"kill -9 $({srun})")
    rank = bench.during(4)["node2"][0]
    root("node2", f"kill -9 $(ps -o ppid= -p {rank})")
    code, out = bench.finish()
    assert code, out
    records = bench.records()
    found = {number: record["ending"] for number, record in records.items()}
    reasons = {number: record["reason"] for number, record in records.items()}
    assert found == {1: "crashed", 2: "crashed", 3: "crashed", 4: "crashed", 5: "ok"}, reasons
    # Pids are not in the order of ranks; the other rank of the node may end as soon as it.
    assert re.search(r"node3: task [45]: (?:Killed|Exited with)", reasons[1]), reasons
    assert "CANCELLED" in reasons[2], reasons
    assert "srun was ended by signal 9" in reasons[3], reasons
    total = sum(range(1, 9))
    wanted = {f"rank {n} of 8: sum {total} on {NAMES[n // RANKS_PER_NODE]}" for n in range(8)}
    assert wanted <= {*bench.log(5).splitlines()}
    again = Bench("ranks", repeats=5)
    code, out = again.finish()
    assert code == 0, out
    assert {record["ending"] for record in again.records().values()} == {"ok"}


def test_ranks_end_with_their_ansible_playbook():
    bench = Bench("killed", repeats=1)
    bench.during(1)
    alice("pkill -9 -f 'ansible[.]cli[.]playbook'")
    bench.finish()
    assert bench.records() == {}


def test_a_process_manager_that_srun_does_not_have_is_refused_before_anything_waits():
    code, out = Bench("refused", repeats=1, slurm_mpi="pmix_v9").finish()
    assert code
    assert "slurm_mpi=pmix_v9: of pmix and pmi2, srun --mpi=list has pmi2, pmix" in out
