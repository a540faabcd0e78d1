#!/usr/bin/env python3
"""Say where this rank runs, wait, and print lines like a trainer's: a stand-in that trains nothing.

It shows where a launcher starts ranks and how they end; its throughputs mean nothing.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "workloads/resnet50"))

import report_lines


def first_of(*names):
    """Return the first of these variables that is set, as a number."""
    return next(int(os.environ[name]) for name in names if name in os.environ)


def main():
    """Print the lines; stay for as many seconds as the argument says."""
    rank = first_of("OMPI_COMM_WORLD_RANK", "RANK")
    ranks = first_of("OMPI_COMM_WORLD_SIZE", "WORLD_SIZE")
    # The address that sshd was reached at on this node.
    host = os.environ["SSH_CONNECTION"].split()[2]
    node = os.environ["SCALEBENCH_NODE"]
    # At once with its end, or the lines of two ranks run into each other.
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
