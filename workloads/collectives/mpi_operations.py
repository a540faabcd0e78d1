"""Collectives of an MPI library between CPUs, by mpi4py, on this rank."""

from __future__ import annotations

import os
import shutil
import socket
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import mpi4py
import numpy as np

from collectives.timed import PERIOD, header_facts
from common.ranks import Place, keep_freed_memory, peak_resident_mib, processor_name


def _name_library() -> None:
    """Have mpi4py take the library beside mpirun, where it is not where the loader looks."""
    mpirun = shutil.which("mpirun")
    beside = Path(mpirun).resolve().parents[1] / "lib" if mpirun else Path()
    found = sorted(beside.glob("libmpi.so*"))
    if found:
        # The first may be a text for the linker, as in Open MPI of PyPI.
        os.environ.setdefault("MPI4PY_LIBMPI", str(found[-1]))


_name_library()
from mpi4py import MPI


class Operation:
    """One collective with its buffers; see ``timed.Operation``."""

    def __init__(self, name: str, count: int, ranks: MPI.Comm) -> None:
        size, self.rank = ranks.size, ranks.rank
        share = count // size
        # What rank r has: (position modulo PERIOD) + r.
        self.ramp = (np.arange(count) % PERIOD).astype(np.float32)
        everyone = self.ramp * size + sum(range(size))
        self.buffer, self.result = np.empty_like(self.ramp), np.empty_like(self.ramp)
        self.run: Callable[[], Any]
        if name == "all_reduce":
            self.result, self.expected = self.buffer, everyone
            self.run = partial(ranks.Allreduce, MPI.IN_PLACE, _floats(self.buffer))
        elif name == "broadcast":
            self.result, self.expected = self.buffer, self.ramp
            self.run = partial(ranks.Bcast, _floats(self.buffer))
        elif name == "all_gather":
            self.buffer = self.buffer[:share].copy()
            self.expected = np.concatenate([self.ramp[:share] + rank for rank in range(size)])
            self.run = partial(ranks.Allgather, _floats(self.buffer), _floats(self.result))
        elif name == "reduce_scatter":
            self.result = self.result[:share].copy()
            self.expected = everyone[self.rank * share : (self.rank + 1) * share]
            both = _floats(self.buffer), _floats(self.result)
            self.run = partial(ranks.Reduce_scatter_block, *both)
        elif name == "sendrecv":
            before, after = (self.rank - 1) % size, (self.rank + 1) % size
            self.expected = self.ramp + before
            received = {"recvbuf": _floats(self.result), "source": before}
            self.run = partial(ranks.Sendrecv, _floats(self.buffer), after, **received)
        else:
            raise ValueError(f"{name} is no operation of this library")

    def fill(self) -> None:
        """Give the buffer this rank's values, and the result none of the right ones."""
        self.result.fill(-1.0)
        self.buffer[:] = self.ramp[: self.buffer.size] + self.rank

    def wrong(self) -> int:
        """Return how many elements of the result are not what they should be."""
        return int((self.result != self.expected).sum())


def _floats(array: np.ndarray) -> list[Any]:
    """Return a buffer with its type, which mpi4py need not find out at every operation."""
    return [array, MPI.FLOAT]


class Mpi:
    """The ranks of an MPI job, as a ``timed.Library``.

    :param started: ranks by the launcher's variables, 1 where it sets none.
    :raises SystemExit: there is one rank, or the library knows of another number of them.
    """

    def __init__(self, started: int) -> None:
        keep_freed_memory()
        self.ranks = MPI.COMM_WORLD
        if self.ranks.size < max(started, 2):
            raise SystemExit(
                f"measure.py: error: {MPI.Get_library_version().partition(',')[0]} knows of"
                f" {self.ranks.size} rank(s), the launcher started {started}, and two are needed:"
                " start it with the mpirun of this library, or name that of mpirun in MPI4PY_LIBMPI"
            )
        node = os.environ.get("SCALEBENCH_NODE", socket.gethostname())
        of_node = self.ranks.Split(self.ranks.allgather(node).index(node))
        self.place = Place(self.ranks.rank, self.ranks.size, of_node.rank, of_node.size)

    def header(self, options: Namespace, own_factors: dict[str, Any]) -> dict[str, Any]:
        """Return what the header line states."""
        return {
            **header_facts(options, self.place, own_factors),
            "framework": "mpi",
            "framework_version": MPI.Get_library_version().partition(",")[0],
            "mpi4py": mpi4py.__version__,
            "device": "cpu",
            "device_name": processor_name(),
            "backend": "mpi",
        }

    def operation(self, name: str, count: int) -> Operation:
        """Return a collective of so many elements of fp32."""
        return Operation(name, count, self.ranks)

    def gather(self, value: Any) -> list[Any]:
        """Return every rank's value, by rank, on every rank."""
        return self.ranks.allgather(value)

    def synchronise(self) -> None:
        """Wait until all ranks are ready."""
        self.ranks.Barrier()

    def peak_memory(self) -> float:
        """Return this rank's peak of resident memory in MiB."""
        return peak_resident_mib()

    def leave(self) -> None:
        """Leave MPI. A rank that ends without it ends the job, with an error, for all."""
        MPI.Finalize()
