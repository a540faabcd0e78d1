#!/usr/bin/env python3
"""Print the lines of a trainer whose steps take a time that is slept and measured.

A stand-in that trains nothing. The noise of its throughput is that of the machine's clock and
scheduler; ``--delay`` makes each step longer. A step that was held up, as by other tests that run
beside this one, is slept again and left out of the printed clock too: a few of them would hide the
differences that are looked for, and many contradict the rates.
It takes 1 MiB of memory for each sample of the batch.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "workloads"))

from common import report_lines

STEP = 0.005
# As a share of what was asked for.
HELD_UP = 0.05


def step(seconds):
    """Sleep; return the seconds that it took, of the first of 20 attempts that was not held up."""
    for _ in range(20):
        start = time.perf_counter()
        time.sleep(seconds)
        took = time.perf_counter() - start
        if took < seconds * (1 + HELD_UP):
            break
    return took


def main():
    """Print header, iterations with their measured seconds, and end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--world-size", type=int, required=True)
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--delay", type=float, default=float(os.environ.get("STEP_DELAY", "0")))
    options = parser.parse_args()
    samples = options.batch_size * options.world_size
    facts = {"model": "timed", "world_size": options.world_size, "precision": options.precision}
    facts |= {"batch_size_per_device": options.batch_size, "global_batch_size": samples}
    print(report_lines.header_line(facts))
    try:
        batch = bytearray(options.batch_size << 20)
    except MemoryError:
        # In the words of PyTorch's allocator on CPUs.
        sys.exit("RuntimeError: DefaultCPUAllocator: not enough memory")
    clock = 0.0
    for number in range(1, options.iterations + 1):
        seconds = step(STEP + options.delay)
        clock += seconds
        line = {"epoch": 0, "loss": 1.0, "samples": samples, "seconds": seconds}
        print(report_lines.iteration_line(number, time=clock, **line))
    del batch
    print(report_lines.end_line(options.iterations, clock, 1.0, "", True))


if __name__ == "__main__":
    main()
