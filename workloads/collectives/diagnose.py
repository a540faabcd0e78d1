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
from common.options import ShowDefaults, default_threads, not_negative, positive
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
    parser.add_argument(
        "--warmup", type=not_negative, default=1, metavar="N", help="sweeps that do not count"
    )
    parser.add_argument(
        "--iterations",
        type=positive,
        default=5,
        metavar="N",
        help="sweeps over all rounds of pairs; above 32 nodes, transfers in each round",
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "gpu"),
        default="auto",
        help="auto: a GPU if there is one; gloo is used on CPUs, NCCL on GPUs",
    )
    parser.add_argument(
        "--threads",
        type=positive,
        default=default_threads(os.environ),
        metavar="N",
        help="CPU threads per rank; the default is OMP_NUM_THREADS where it is set",
    )
    parser.add_argument(
        "--collective-timeout",
        type=positive,
        default=300,
        metavar="S",
        help="seconds a rank waits for the others",
    )
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
