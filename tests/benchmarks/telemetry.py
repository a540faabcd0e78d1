"""What watching and sampling a repeat cost: CPU time of the supervisor, and throughput lost.

Run ``python tests/benchmarks/telemetry.py [--pairs N] [--seconds N]``. Throughput is that
of plain counting on every core, with and without a supervisor, in pairs one after the other in
alternating order. The loss is far below what other work on a machine does to a pair, so the
supervisor looks and samples at a multiple of its rate, and the loss is that part of what was seen.
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
# The supervisor looks once a second and samples every second look; here both at every look.
TIMES = 50
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
    """Return the supervisor's answer, and the CPU seconds it took itself."""
    command = [sys.executable, "-c", SUPERVISE, json.dumps([argv, log, interval])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "collections")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def cpu_cost(seconds: float, log: str) -> None:
    """Print the CPU time of watching, of one sample and of the readings before and after."""
    idle = ["sleep", str(seconds)]
    watching = supervised(idle, 0, log)
    ends = supervised(idle, 10 * seconds, log)["telemetry"]["sampling_seconds"]
    dense = supervised(idle, 1 / TIMES, log)["telemetry"]
    sample = (dense["sampling_seconds"] - ends) / (dense["samples"] - 1)
    per_second = watching["supervisor_seconds"] / seconds
    print(f"watching                {per_second * 1e3:8.3f} ms of CPU time a second")
    print(f"readings at both ends   {ends * 1e3:8.3f} ms of CPU time a repeat")
    print(f"one sample              {sample * 1e3:8.3f} ms of CPU time")
    share = (per_second + sample / INTERVAL) / (os.cpu_count() or 1)
    print(f"both, every {INTERVAL:g} s         {share:8.4%} of this machine   (goal: under 1 %)")


def throughput_lost(pairs: int, seconds: float, log: str) -> None:
    """Print the median of the pairs' losses with its 95 % interval by order statistics."""
    argv = [sys.executable, "-c", COUNT, str(seconds)]

    def plain() -> int:
        return int(subprocess.run(argv, capture_output=True, check=True).stdout)

    def watched() -> int:
        supervised(argv, 1 / TIMES, log)
        return int(Path(log).read_text())

    losses = []
    for number in range(pairs):
        if number % 2:
            without, with_it = plain(), watched()
        else:
            with_it, without = watched(), plain()
        losses.append(1 - with_it / without)
    losses.sort()
    # Ranks n/2 -+ 0.98 sqrt(n) hold the median with 95 %: the binomial's normal approximation.
    reach = round(0.98 * pairs**0.5)
    least, greatest = losses[max(0, pairs // 2 - reach)], losses[min(pairs - 1, pairs // 2 + reach)]
    median = statistics.median(losses)
    print(
        f"throughput lost         {median:8.2%} at {TIMES} times the rate (95 %: {least:.2%} to"
        f" {greatest:.2%}, {pairs} pairs of {seconds:g} s)"
    )
    print(
        f"so at its own rate      {median / TIMES:8.4%} (95 %: at most {greatest / TIMES:.4%})"
        "   (goal: under 1 %)"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=3.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/x.log"
        cpu_cost(3 * given.seconds, log)
        throughput_lost(given.pairs, given.seconds, log)


if __name__ == "__main__":
    main()
