#!/usr/bin/env python3
"""Stand-in for a trainer of MPI ranks: add up their numbers, print a trainer's lines, and wait.

Called with the seconds that it takes, the ranks that there must be and the iterations. MPI is Open
MPI's library itself; the throughputs are meaningless.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "workloads"))

from common import report_lines


def main():
    """Start MPI, add up, print, wait; end with MPI_Finalize."""
    seconds, ranks, iterations = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)

    def known(name):
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))

    world = known("ompi_mpi_comm_world")
    mpi.MPI_Init(None, None)
    rank, size, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    mpi.MPI_Comm_rank(world, ctypes.byref(rank))
    mpi.MPI_Comm_size(world, ctypes.byref(size))
    one = ctypes.c_int(rank.value + 1)
    integer, add = known("ompi_mpi_int"), known("ompi_mpi_op_sum")
    mpi.MPI_Allreduce(ctypes.byref(one), ctypes.byref(total), 1, integer, add, world)
    place = (rank.value, size.value, total.value)
    sys.stdout.write("rank {} of {}: sum {} on {}\n".format(*place, os.environ["SCALEBENCH_NODE"]))
    if total.value != ranks * (ranks + 1) // 2:
        raise RuntimeError(f"the sum of {ranks} ranks is {total.value}")
    if rank.value == 0:
        facts = {"model": "mpi_sum", "world_size": size.value, "precision": "fp32"}
        print(report_lines.header_line({**facts, "batch_size_per_device": 1}))
    for number in range(1, iterations + 1):
        time.sleep(seconds / iterations)
        line = {"epoch": 0, "loss": 1.0, "samples": ranks, "seconds": seconds / iterations}
        if rank.value == 0:
            print(report_lines.iteration_line(number, time=number * line["seconds"], **line))
    if rank.value == 0:
        print(report_lines.end_line(iterations, seconds, 1.0, "", True), flush=True)
    mpi.MPI_Finalize()


if __name__ == "__main__":
    main()
