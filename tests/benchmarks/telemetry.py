"""Measure the cost of supervising and sampling a repeat: CPU time and lost throughput.

Run ``python tests/benchmarks/telemetry.py [--pairs N] [--seconds N]``. The workload counts on every
core, with and without a supervisor, in pairs of runs in alternating order. The loss is far below
the noise of a pair, so the supervisor polls and samples at a multiple of its usual rate, and the
measured loss is divided by this factor.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INTERVAL = 2.0
# The supervisor polls once a second and samples at every second poll; here at every poll.
FACTOR = 50
SUPERVISE = """
import json, resource, sys
from ansible_collections.scalebench.core.plugins.module_utils.node.supervise import supervise
argv, log, interval = json.loads(sys.argv[1])

def used():
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime

before = used()
done = supervise(argv, log, {}, 0, 0, sample_interval=interval)
print(json.dumps({**done, "supervisor_seconds": used() - before}))
"""
COUNT = """
import multiprocessing, sys, time

def count(seconds):
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        number += 1
    return number

cores = multiprocessing.cpu_count()
with multiprocessing.Pool(cores) as pool:
    print(sum(pool.map(count, [float(sys.argv[1])] * cores)))
"""


def supervised(argv: list[str], interval: float, log: str) -> dict:
    """Return the supervisor's answer, with its own CPU time as ``supervisor_seconds``."""
    command = [sys.executable, "-c", SUPERVISE, json.dumps([argv, log, interval])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "collections")}
    completed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(completed.stdout)


def cpu_cost(seconds: float, log: str) -> None:
    """Print the CPU time of polling, of one sample and of the readings at start and end."""
    idle = ["sleep", str(seconds)]
    polling = supervised(idle, 0, log)
    ends = supervised(idle, 10 * seconds, log)["telemetry"]["sampling_seconds"]
    dense = supervised(idle, 1 / FACTOR, log)["telemetry"]
    sample = (dense["sampling_seconds"] - ends) / (dense["samples"] - 1)
    per_second = polling["supervisor_seconds"] / seconds
    print(f"polling                 {per_second * 1e3:8.3f} ms of CPU time per second")
    print(f"readings at both ends   {ends * 1e3:8.3f} ms of CPU time per repeat")
    print(f"one sample              {sample * 1e3:8.3f} ms of CPU time")
    share = (per_second + sample / INTERVAL) / (os.cpu_count() or 1)
    print(f"both, every {INTERVAL:g} s         {share:8.4%} of this machine   (goal: under 1 %)")


def throughput_lost(pairs: int, seconds: float, log: str) -> None:
    """Print the median of the pairs' losses with its 95 % interval by order statistics."""
    argv = [sys.executable, "-c", COUNT, str(seconds)]

    def without_supervisor() -> int:
        return int(subprocess.run(argv, capture_output=True, check=True).stdout)

    def with_supervisor() -> int:
        supervised(argv, 1 / FACTOR, log)
        return int(Path(log).read_text())

    losses = []
    for number in range(pairs):
        if number % 2:
            without, supervised_count = without_supervisor(), with_supervisor()
        else:
            supervised_count, without = with_supervisor(), without_supervisor()
        losses.append(1 - supervised_count / without)
    losses.sort()
    # The order statistics n/2 -+ 0.98 sqrt(n) enclose the median with 95 % (normal approximation).
    reach = round(0.98 * pairs**0.5)
    least, greatest = losses[max(0, pairs // 2 - reach)], losses[min(pairs - 1, pairs // 2 + reach)]
    median = statistics.median(losses)
    print(
        f"throughput lost         {median:8.2%} at {FACTOR} times the usual rate (95 %:"
        f" {least:.2%} to {greatest:.2%}, {pairs} pairs of {seconds:g} s)"
    )
    print(
        f"at the usual rate       {median / FACTOR:8.4%} (95 %: at most {greatest / FACTOR:.4%})"
        "   (goal: under 1 %)"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/x.log"
        cpu_cost(3 * arguments.seconds, log)
        throughput_lost(arguments.pairs, arguments.seconds, log)


if __name__ == "__main__":
    main()
