"""Compare all_reduce over gloo as a repeat measures it with a bare torchrun of the same program.

Run ``python tests/benchmarks/collectives.py [--pairs N] [--bytes N] [--python FILE]``. Two ranks on
this machine, in pairs of runs in alternating order: one below the supervisor of repeats, with its
samples of telemetry, read by the reader and the rule of the benchmark; one started by hand, its
lines reckoned here. It fails where the median ratio is more than 3 % from 1.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from telemetry import supervised

ROOT = Path(__file__).resolve().parents[2]
WARMUP, ITERATIONS = 5, 200
# Seconds between two samples, as campaign_sample_interval has it.
INTERVAL = 2.0
LINE = re.compile(r"all_reduce (\d+) bytes .* busbw ([0-9.]+) MB/s")
GOAL = 0.03


def command(python: str, size: int) -> list[str]:
    """Return what starts two ranks of the benchmark's program, as launcher torchrun does."""
    return [
        *(python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"),
        str(ROOT / "workloads/collectives/measure.py"),
        *("--collective=all_reduce", f"--bytes={size}", f"--warmup={WARMUP}"),
        *(f"--iterations={ITERATIONS}", "--device=cpu"),
    ]


def of_a_repeat(argv: list[str], log: str) -> float:
    """Return the bus bandwidth in MB/s as a repeat gives it."""
    done = supervised(argv, INTERVAL, log)
    text = Path(log).read_text(encoding="utf-8")
    if done["ending"] != "ok":
        raise SystemExit(f"{done['ending']}: {done['reason']}\n{text[-2000:]}")
    parameters = {"warmup": WARMUP, "iterations": ITERATIONS}
    return float(facts_of_text(text, "harmonic_mean", parameters)["throughput"])


def of_a_bare_run(argv: list[str]) -> float:
    """Return the bus bandwidth in MB/s by the lines that the program prints."""
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    kept = [
        float(rate)
        for number, rate in LINE.findall(done.stdout)
        if WARMUP < int(number) <= WARMUP + ITERATIONS
    ]
    if len(kept) != ITERATIONS:
        raise SystemExit(f"{len(kept)} lines of {ITERATIONS} operations:\n{done.stdout[-2000:]}")
    return statistics.harmonic_mean(kept)


def main() -> int:
    """Measure, print, and return whether the two are apart."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=16)
    parser.add_argument("--bytes", type=int, default=1 << 22)
    parser.add_argument("--python", default=str(ROOT / ".state/venvs/pytorch/bin/python"))
    arguments = parser.parse_args()
    argv = command(arguments.python, arguments.bytes)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/x.log"
        for number in range(arguments.pairs):
            if number % 2:
                bare, repeat = of_a_bare_run(argv), of_a_repeat(argv, log)
            else:
                repeat, bare = of_a_repeat(argv, log), of_a_bare_run(argv)
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
