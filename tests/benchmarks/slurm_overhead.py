"""Measure what a repeat costs under Slurm, beside a bare loop of srun and a job per cell.

It needs a testbed with Slurm (``make testbed ARGS=slurm``). The ranks are stand-ins that take one
second (``workloads/fixed_time.py``). bench.yml runs a campaign with few and with many repeats; the
difference is free of what a campaign costs once. The loop is one step over all nodes for each
repeat, within one allocation. A job per cell is what ReFrame does: all are submitted at once, and
Slurm starts one when the one before has ended. All nodes and the controller share the cores of this
machine: a cluster does at the same time what is done here one after the other.
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

FIXED = 1
RANKS = "python3 scalebench/tests/benchmarks/workloads/fixed_time.py 1 4 7"
LOOP = "for i in $(seq {}); do srun --ntasks-per-node=1 --mpi=none " + RANKS + " || exit 1; done"
_ROW = "{:>5} {:>10} {:>10} {:>12} {:>14} {:>14}"
_TITLES = ("load", "bench.yml", "srun loop", "job per cell", "of the loop", "of the jobs")


def measure(command: list[str]) -> float:
    """Run a command; return the seconds that it took.

    :raises SystemExit: it failed; with the end of its output.
    """
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[-1][:200]} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return time.monotonic() - start


def bench(campaign: str, repeats: int) -> float:
    """Return the seconds of a campaign with so many repeats on four nodes."""
    return measure(slurm.bench(campaign, {"topology": "4n1g", "repeats": repeats}))


def loop(repeats: int) -> float:
    """Return the seconds of so many steps in one allocation."""
    return measure(slurm.login(f"salloc -Q -N4 --exclusive sh -c '{LOOP.format(repeats)}'"))


def jobs(repeats: int) -> float:
    """Return the seconds of so many jobs of one step each."""
    one = f"sbatch --parsable --output=/dev/null -N4 --exclusive --wrap '{LOOP.format(1)}'"
    last = "while squeue --noheader --user=alice | grep -q .; do sleep 0.2; done"
    return measure(slurm.login(f"for n in $(seq {repeats}); do {one} || exit 1; done; {last}"))


def main() -> None:
    """Print the seconds per repeat beyond those of its ranks, and the ratios of the makespans."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, nargs=2, default=[2, 22], help="default 2 22")
    parser.add_argument("--times", type=int, default=1, help="measurements; default 1")
    options = parser.parse_args()
    if not (slurm.HOME / ".ssh").exists():
        print("No testbed with Slurm runs (make testbed ARGS=slurm): its overhead is not measured")
        return
    slurm.install(seconds=FIXED)
    few, many = options.repeats
    more = many - few
    print(f"Seconds per repeat beyond the {FIXED} s of its ranks; load {os.getloadavg()[0]:.1f}")
    print(_ROW.format(*_TITLES))
    for number in range(options.times):
        load = os.getloadavg()[0]
        name = f"overhead{os.getpid()}-{number}"
        ours = bench(f"{name}-many", many) - bench(f"{name}-few", few)
        bare = loop(many) - loop(few)
        each = jobs(many) - jobs(few)
        figures = (f"{seconds / more - FIXED:.2f}" for seconds in (ours, bare, each))
        ratios = (f"{ours / other:.2f}" for other in (bare, each))
        print(_ROW.format(f"{load:.1f}", *figures, *ratios), flush=True)
    print("Goals: at most 0.5 s more than the loop, and 1.05 of its time")


if __name__ == "__main__":
    main()
