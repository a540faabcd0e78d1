"""Check and time a collective, whatever library does it."""

from __future__ import annotations

import platform
import time
from argparse import Namespace
from collections.abc import Callable, Sized
from typing import Any, Protocol

from collectives.definitions import ELEMENT_BYTES, elements, operation_line
from common.job import begin_job
from common.ranks import Place
from common.report_lines import StoppedError, end_line, put

# Sums of small whole numbers are exact in fp32, so a result is either right or wrong.
PERIOD = 31


class Operation(Protocol):
    """One collective with its buffers; ``run`` does it, to its end on the device."""

    expected: Sized
    run: Callable[[], Any]

    def fill(self) -> None:
        """Give the buffer this rank's values, and the result none of the right ones."""

    def wrong(self) -> int:
        """Return how many elements of the result are not what they should be."""


class Library(Protocol):
    """A library of collectives, connected to the other ranks."""

    place: Place

    def header(self, options: Namespace, own_factors: dict[str, Any]) -> dict[str, Any]:
        """Return what the header line states."""

    def operation(self, name: str, count: int) -> Operation:
        """Return a collective of so many elements of fp32."""

    def gather(self, value: Any) -> list[Any]:
        """Return every rank's value, by rank, on every rank."""

    def synchronise(self) -> None:
        """Wait until all ranks and their devices are ready."""

    def peak_memory(self) -> float:
        """Return this rank's peak in MiB."""

    def leave(self) -> None:
        """Disconnect from the other ranks once all are done."""


def header_facts(options: Namespace, place: Place, own_factors: dict[str, Any]) -> dict[str, Any]:
    """Return what the header line of a program of this folder states, whatever the library."""
    return {
        "model": "collective",
        "python": platform.python_version(),
        "world_size": place.world_size,
        "nodes": place.nodes,
        "devices_per_node": place.local_size,
        "precision": "fp32",
        "warmup": options.warmup,
        "iterations": options.iterations,
        "threads_per_rank": options.threads,
        "own_factors": own_factors,
    }


def measure(options: Namespace, library: Library) -> None:
    """Do the checked and the measured operations; the first rank prints them.

    The duration of an operation is the mean over the ranks, as nccl-tests reports by default.

    :raises StoppedError: a result is wrong.
    """
    place = library.place
    count = elements(options.collective, options.bytes, place.world_size)
    own = {"collective": options.collective, "message_bytes": options.bytes}
    facts = library.gather(place.facts())
    begin_job(place, library.header(options, own), facts)
    operation = library.operation(options.collective, count)
    begin = time.perf_counter()
    timed = [_checked(operation, library) for _ in range(options.warmup)]
    library.synchronise()
    operation.fill()
    library.synchronise()
    timed += [_timed(operation) for _ in range(options.iterations)]
    total = time.perf_counter() - begin
    _checked(operation, library)
    of_ranks = library.gather([seconds for seconds, _ in timed])
    memory = max(library.gather(library.peak_memory()))
    if place.rank == 0:
        for number, (seconds, (_, ended)) in enumerate(zip(zip(*of_ranks), timed), 1):
            mean = sum(seconds) / len(seconds)
            size = count * ELEMENT_BYTES
            put(operation_line(options.collective, number, size, place.world_size, mean, ended))
        put(end_line(len(timed), total, memory, "", True))
    library.leave()


def _timed(operation: Operation) -> tuple[float, float]:
    """Return the seconds of one operation, and when it ended."""
    run, before = operation.run, time.perf_counter()
    run()
    return time.perf_counter() - before, time.time()


def _checked(operation: Operation, library: Library) -> tuple[float, float]:
    """Fill the buffers, time the operation, and compare its result.

    :raises StoppedError: the result is wrong on any rank.
    """
    operation.fill()
    library.synchronise()
    timed = _timed(operation)
    wrong = library.gather(operation.wrong())
    if any(wrong):
        raise StoppedError(
            "wrong_result",
            f"wrong elements by rank, of {len(operation.expected)}: " + ", ".join(map(str, wrong)),
        )
    return timed
