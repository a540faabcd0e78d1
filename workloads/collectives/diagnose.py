#!/usr/bin/env python3
"""Measure every node alone and pairs of nodes in rounds, on each rank of a job: what is slow?

For example on each of four nodes:
  torchrun --nnodes=4 --nproc-per-node=1 --node-rank=N --master-addr=ADDRESS diagnose.py
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.job import run_rank
from common.options import ShowDefaults, add_collective_timeout, add_measurement, positive
from common.process import end_now
from common.ranks import place_from


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        description="Measure nodes alone and in pairs, one rank of a torchrun job.",
        formatter_class=ShowDefaults,
    )
    parser.add_argument(
        "--bytes", type=positive, default=1 << 22, metavar="N", help="of a transfer, each way"
    )
    parser.add_argument(
        "--alone", type=positive, default=9, metavar="N", help="repeats of each test of a node"
    )
    add_measurement(parser, "sweeps over the rounds of pairs", warmup=1, iterations=5)
    add_collective_timeout(parser)
    return parser


def main() -> int:
    """Check the command line, measure, and return the exit status."""
    parser = make_parser()
    options = parser.parse_args()
    if place_from(os.environ).nodes < 2:
        parser.error("a pair needs two nodes: start it with torchrun on each")
    gc.disable()  # a collection would be time of a transfer

    def measure_rank() -> None:
        # Bad options need no PyTorch.
        from collectives.nodes_and_pairs import measure  # noqa: PLC0415

        measure(options)

    return run_rank(measure_rank, int(os.environ.get("RANK", "0")))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    end_now(main())
