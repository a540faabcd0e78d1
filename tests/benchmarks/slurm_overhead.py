"""Measure what a repeat and a cell cost under Slurm, beside a bare loop of srun and a job per cell.

It needs a testbed with Slurm (``make testbed ARGS=slurm``). The ranks are stand-ins that take a
fixed time (``workloads/fixed_time.py``): one second in repeats of one cell, ten seconds in cells of
one repeat, as the ratio of makespans depends on it and real cells train for minutes. Each is
measured with few and with many; the difference is free of what a campaign costs once, which stands
apart. The loop is one step over all nodes for each repeat, within one allocation. A job per cell is
what ReFrame does: all are submitted at once, and Slurm starts one when the one before has ended.
All nodes and the controller share the cores of this machine: a cluster does at the same time what
is done here one after the other.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import slurm_cluster as slurm

# What is measured, and the seconds that its ranks take.
KINDS = {"repeat": 1, "cell": 10}
_STEP = (
    "srun --ntasks-per-node=1 --mpi=none"
    " python3 scalebench/tests/benchmarks/workloads/fixed_time.py {} 4 7 || exit 1"
)
_ROW = "{:>6} {:>5} {:>10} {:>10} {:>12} {:>12} {:>12} {:>6}"
_TITLES = (
    *("kind", "load", "bench.yml", "srun loop", "job per cell"),
    *("of the loop", "of the jobs", "once"),
)


def measure(command: list[str]) -> float:
    """Run a command; return the seconds that it took.

    :raises SystemExit: it failed; with the end of its output.
    """
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[-1][:200]} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return time.monotonic() - start


def bench(kind: str, number: int, campaign: str) -> list[str]:
    """Return the command of a campaign of so many repeats or cells on four nodes."""
    cells = number if kind == "cell" else 1
    options = {"number": [*range(1, cells + 1)], "repeats": number // cells}
    return slurm.bench(f"{campaign}-{number}", {"topology": "4n1g", **options})


def loop(kind: str, number: int) -> list[str]:
    """Return the command of so many steps in one allocation."""
    steps = f"for i in $(seq {number}); do {_STEP.format(KINDS[kind])}; done"
    return slurm.login(f"salloc -Q -N4 --exclusive sh -c '{steps}'")


def jobs(kind: str, number: int) -> list[str]:
    """Return the command of so many jobs of one step each."""
    wrapped = _STEP.format(KINDS[kind])
    one = f"sbatch --parsable --output=/dev/null -N4 --exclusive --wrap '{wrapped}'"
    last = "while squeue --noheader --user=alice | grep -q .; do sleep 0.2; done"
    return slurm.login(f"for n in $(seq {number}); do {one} || exit 1; done; {last}")


def main() -> None:
    """Print the seconds per repeat and cell beyond those of its ranks, and ratios of makespans."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--numbers", type=int, nargs=2, default=[2, 22], help="default 2 22")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--times", type=int, default=1, help="measurements; default 1")
    options = parser.parse_args()
    if not (slurm.HOME / ".ssh").exists():
        print("No testbed with Slurm runs (make testbed ARGS=slurm): its overhead is not measured")
        return
    few, many = options.numbers
    print("Seconds per repeat (ranks of 1 s) and per cell (10 s) beyond those of its ranks")
    print(_ROW.format(*_TITLES), flush=True)
    for kind in options.kinds:
        slurm.install(seconds=KINDS[kind])
        for turn in range(options.times):
            load = os.getloadavg()[0]
            name = f"{kind}{os.getpid()}-{turn}"
            begin = measure(bench(kind, few, name))
            ours = measure(bench(kind, many, name)) - begin
            bare = measure(loop(kind, many)) - measure(loop(kind, few))
            each = measure(jobs(kind, many)) - measure(jobs(kind, few))
            beyond = (f"{of / (many - few) - KINDS[kind]:.2f}" for of in (ours, bare, each))
            ratios = (f"{ours / other:.2f}" for other in (bare, each))
            once = f"{begin - few * ours / (many - few):.1f}"
            print(_ROW.format(kind, f"{load:.1f}", *beyond, *ratios, once), flush=True)
    print("Goals: a repeat at most 0.5 s more than in the loop, cells at most 1.05 of its time")


if __name__ == "__main__":
    main()
