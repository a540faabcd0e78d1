#!/usr/bin/env python3
"""Print the lines of a trainer of sequences: a stand-in that trains nothing.

Its throughput is made of its arguments, so that a test can compute it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "workloads"))

from common import report_lines


def main():
    """Print header, iterations and end; a step takes 1 ms for each 128 tokens of a sequence."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", required=True)
    parser.add_argument("--packed", action="store_true")
    for name in ("batch-size", "sequence-length", "iterations", "world-size"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    header = {
        "model": "toy",
        "world_size": options.world_size,
        "precision": options.precision,
        "batch_size_per_device": options.batch_size,
        "own_factors": {"sequence_length": options.sequence_length, "packed": options.packed},
    }
    print(report_lines.header_line(header))
    samples, seconds = options.batch_size * options.world_size, options.sequence_length / 128e3
    for number in range(1, options.iterations + 1):
        facts = {"epoch": 0, "loss": 1.0, "samples": samples, "seconds": seconds}
        print(report_lines.iteration_line(number, time=number * seconds, unit="sequences", **facts))
    print(report_lines.end_line(options.iterations, options.iterations * seconds, 1.0, "", True))


if __name__ == "__main__":
    main()
