"""The collectives, their bus bandwidth, and the lines that state it. Needs no framework."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Collective:
    """``busbw_factor``: bus bandwidth over algorithm bandwidth, by the number of ranks.

    ``divided``: whether each rank has only its share of the message on one side.
    Source: doc/PERFORMANCE.md and ``*GetBw`` in src/*.cu of NVIDIA/nccl-tests, commit a0b82b2.
    """

    busbw_factor: Callable[[int], float]
    divided: bool = False


COLLECTIVES: dict[str, Collective] = {
    "all_reduce": Collective(lambda ranks: 2 * (ranks - 1) / ranks),
    "all_gather": Collective(lambda ranks: (ranks - 1) / ranks, divided=True),
    "reduce_scatter": Collective(lambda ranks: (ranks - 1) / ranks, divided=True),
    "broadcast": Collective(lambda ranks: 1.0),
    # Each rank sends to the next and receives from the one before, at the same time.
    "sendrecv": Collective(lambda ranks: 1.0),
}
ELEMENT_BYTES = 4  # fp32


def elements(name: str, size: int, ranks: int) -> int:
    """Return the elements of a message of `size` bytes, cut so that the ranks can divide it.

    :raises ValueError: not one element, or not one for each rank, fits.
    """
    step = ranks if COLLECTIVES[name].divided else 1
    count = size // ELEMENT_BYTES // step * step
    if not count:
        raise ValueError(
            f"{size} bytes are less than {step * ELEMENT_BYTES}, one element of fp32"
            + (f" for each of {ranks} ranks" if step > 1 else "")
        )
    return count


def operation_line(
    name: str, number: int, size: int, ranks: int, seconds: float, time: float
) -> str:
    """Return the line of one operation; bandwidths in 10^6 bytes/s.

    :param size: bytes that were moved, as nccl-tests counts them.
    :param seconds: the operation's duration.
    :param time: seconds since 1970 at its end.
    """
    algorithm = size / seconds / 1e6
    bus = algorithm * COLLECTIVES[name].busbw_factor(ranks)
    return (
        f"{name} {number} bytes {size} duration {seconds * 1e6:.1f} us"
        f" algbw {algorithm:.4f} MB/s busbw {bus:.4f} MB/s time {time:.6f}"
    )
