#!/usr/bin/env python3
"""Stand-in for a trainer: print where this rank runs, print a trainer's lines, and wait.

It shows where a launcher starts ranks and how they end; its throughputs are meaningless.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "workloads"))

from common import report_lines


def first_of(*names):
    """Return the first of these environment variables that is set, as an integer."""
    return next(int(os.environ[name]) for name in names if name in os.environ)


def main():
    """Print the lines; then run for as many seconds as the argument says."""
    rank = first_of("OMPI_COMM_WORLD_RANK", "RANK")
    ranks = first_of("OMPI_COMM_WORLD_SIZE", "WORLD_SIZE")
    # The address of this node that the ssh client connected to.
    host = os.environ["SSH_CONNECTION"].split()[2]
    node = os.environ["SCALEBENCH_NODE"]
    # One write including the line end, or the lines of two ranks would mix.
    placed = report_lines.rank_line(rank, 0, node, host, os.getpid())
    os.write(1, "{}\nrank {} temporary {}\n".format(placed, rank, os.environ["TMPDIR"]).encode())
    if rank == 0:
        identity = {"batch_size_per_device": 2, "image_size": 32, "precision": "fp32"}
        print(report_lines.header_line({**identity, "world_size": ranks, "data": "synthetic"}))
        for number in range(1, 5):
            facts = {"epoch": 0, "loss": 1.0, "samples": 2 * ranks, "seconds": 0.1}
            print(report_lines.iteration_line(number, time=time.time(), **facts))
        print(report_lines.end_line(4, 0.4, 1.0, "", True), flush=True)
    time.sleep(float(sys.argv[1]))


if __name__ == "__main__":
    main()
