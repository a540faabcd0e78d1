#!/usr/bin/env python3
"""Time one collective operation at one message size, on each rank of a job.

For example two ranks on this machine, by torch.distributed or an MPI library:
  torchrun --standalone --nproc-per-node 2 measure.py --collective=all_reduce --bytes=1048576
  mpirun -np 2 python measure.py --library=mpi --collective=all_reduce --bytes=1048576
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from collectives.definitions import COLLECTIVES
from collectives.timed import measure
from common.job import run_rank
from common.options import (
    ShowDefaults,
    add_collective_timeout,
    add_measurement,
    positive,
    refuse_unread,
)
from common.process import end_now
from common.ranks import PLACE_VARIABLES, place_from

# The variables of a rank's place, by library.
PLACES = {
    "torch": PLACE_VARIABLES,
    "mpi": tuple(f"OMPI_COMM_WORLD_{of}" for of in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")),
}


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        description="Time a collective operation, one rank of a job. Every result of the warm-up "
        "is checked.",
        formatter_class=ShowDefaults,
    )
    parser.add_argument(
        "--library",
        choices=PLACES,
        default="torch",
        help="torch: torch.distributed of a torchrun job, over gloo on CPUs and NCCL on GPUs; mpi: "
        "the MPI library of mpirun by mpi4py, on CPUs",
    )
    parser.add_argument(
        "--collective", choices=COLLECTIVES, default="all_reduce", help="the operation"
    )
    parser.add_argument(
        "--bytes",
        type=positive,
        default=1 << 20,
        metavar="N",
        help="size of the message as nccl-tests counts it: of the whole buffer, which all_gather "
        "and reduce_scatter divide among the ranks; cut to whole elements of fp32",
    )
    add_measurement(parser, "operations", warmup=5, iterations=20)
    add_collective_timeout(parser)
    return parser


def main() -> int:
    """Check the command line, measure, and return the exit status."""
    parser = make_parser()
    options = parser.parse_args()
    place = place_from(os.environ, PLACES[options.library])
    if options.library == "mpi" and options.device == "gpu":
        parser.error("--library=mpi measures between CPUs")
    if options.library == "mpi":
        refuse_unread(parser, ("threads", "collective_timeout"), "--library=torch")
    if options.library == "torch" and place.world_size < 2:
        parser.error("a collective needs two ranks at least: start it with torchrun")
    gc.disable()  # a collection would be time of the operation

    def measure_rank() -> None:
        # Bad options need no library.
        if options.library == "mpi":
            from collectives.mpi_operations import Mpi  # noqa: PLC0415

            measure(options, Mpi(place.world_size))
        else:
            from collectives.operations import TorchDistributed  # noqa: PLC0415

            measure(options, TorchDistributed(options))

    return run_rank(measure_rank, place.rank)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    end_now(main())
