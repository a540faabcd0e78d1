"""Compare all_reduce as a repeat measures it with what measures the same without Scalebench.

Run ``python tests/benchmarks/collectives.py [--pairs N] [--bytes N] [--library torch|mpi]``. Two
ranks on this machine, in pairs of runs in alternating order: one below the supervisor of repeats,
with its samples of telemetry, read by the reader and the rule of the benchmark; one started by
hand, its lines reckoned here. Over gloo that is the same program below a bare torchrun, by Open MPI
a loop in C. It fails where the median ratio is more than 3 % from 1.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from telemetry import supervised

ROOT = Path(__file__).resolve().parents[2]
VENVS = ROOT / ".state/venvs"
WARMUP, ITERATIONS = 5, 200
# Seconds between two samples, as campaign_sample_interval has it.
INTERVAL = 2.0
LINE = re.compile(r"all_reduce (\d+) bytes .* busbw ([0-9.]+) MB/s")
GOAL = 0.03
# As launch_mpirun.py starts the ranks of CPUs, with TCP as between nodes: through shared memory the
# place of a buffer in it decides, by 15 % either way.
_PARAMETERS = {
    "pml": "ob1",
    "btl": "tcp,self",
    "btl_tcp_if_include": "lo",
    "mpi_yield_when_idle": "1",
}
MPIRUN = [
    *("mpirun", "--allow-run-as-root", "--bind-to", "none", "--oversubscribe", "-np", "2"),
    *(word for pair in _PARAMETERS.items() for word in ("--gmca", *pair)),
]


def program(python: Path, size: int, library: str) -> list[str]:
    """Return the command of a rank, as the recipes of the benchmark have it."""
    return [
        *(str(python), str(ROOT / "workloads/collectives/measure.py"), f"--library={library}"),
        *("--collective=all_reduce", f"--bytes={size}", f"--warmup={WARMUP}"),
        *(f"--iterations={ITERATIONS}", "--device=cpu"),
    ]


def over_gloo(size: int, _folder: str) -> tuple[list[str], Callable[[], float]]:
    """Return the command of a repeat by launcher torchrun, and the same command started bare."""
    python, *words = program(VENVS / "pytorch/bin/python", size, "torch")
    argv = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", *words]

    def bare() -> float:
        kept = [
            float(rate)
            for number, rate in LINE.findall(_output(argv))
            if WARMUP < int(number) <= WARMUP + ITERATIONS
        ]
        return statistics.harmonic_mean(_all(kept))

    return argv, bare


def by_open_mpi(size: int, folder: str) -> tuple[list[str], Callable[[], float]]:
    """Return the command of a repeat by launcher mpirun, and a compiled loop of the operation."""
    source = Path(__file__).with_name("workloads") / "all_reduce_loop.c"
    loop = f"{folder}/all_reduce_loop"
    subprocess.run(["mpicc", "-O2", "-o", loop, source], check=True)
    argv = [*MPIRUN, *program(VENVS / "mpi/bin/python", size, "mpi")]

    def bare() -> float:
        printed = _output([*MPIRUN, loop, str(size), str(WARMUP), str(ITERATIONS)])
        # On two ranks bus and algorithm bandwidth are the same.
        return size / statistics.fmean(_all([float(line) for line in printed.split()])) / 1e6

    return argv, bare


LIBRARIES = {"torch": over_gloo, "mpi": by_open_mpi}


def _output(argv: list[str]) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def _all(figures: list[float]) -> list[float]:
    if len(figures) != ITERATIONS:
        raise SystemExit(f"{len(figures)} figures of {ITERATIONS} operations")
    return figures


def of_a_repeat(argv: list[str], log: str) -> float:
    """Return the bus bandwidth in MB/s as a repeat gives it."""
    done = supervised(argv, INTERVAL, log)
    text = Path(log).read_text(encoding="utf-8")
    if done["ending"] != "ok":
        raise SystemExit(f"{done['ending']}: {done['reason']}\n{text[-2000:]}")
    parameters = {"warmup": WARMUP, "iterations": ITERATIONS}
    return float(facts_of_text(text, "harmonic_mean", parameters)["throughput"])


def main() -> int:
    """Measure, print, and return whether the two are apart."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=16)
    parser.add_argument("--bytes", type=int, default=1 << 22)
    parser.add_argument("--library", choices=LIBRARIES, default="torch")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        argv, bare_run = LIBRARIES[arguments.library](arguments.bytes, folder)
        log = f"{folder}/x.log"
        for number in range(arguments.pairs):
            if number % 2:
                bare, repeat = bare_run(), of_a_repeat(argv, log)
            else:
                repeat, bare = of_a_repeat(argv, log), bare_run()
            ratios.append(repeat / bare)
            print(f"{arguments.bytes} bytes: {repeat:8.2f} MB/s, bare {bare:8.2f} MB/s", flush=True)
    ratios.sort()
    # As in telemetry.py.
    reach = round(0.98 * arguments.pairs**0.5)
    middle = arguments.pairs // 2
    low, high = ratios[max(0, middle - reach)], ratios[min(arguments.pairs - 1, middle + reach)]
    median = statistics.median(ratios)
    print(
        f"repeat over bare run    {median:8.4f} (95 %: {low:.4f} to {high:.4f},"
        f" {arguments.pairs} pairs)   (goal: at most {GOAL:.0%} from 1)"
    )
    return int(abs(median - 1) > GOAL)


if __name__ == "__main__":
    sys.exit(main())
