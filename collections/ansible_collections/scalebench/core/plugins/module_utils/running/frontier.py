"""The largest batch that fits into memory: cells that are ruled out, the next size to try."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, Optional

from ..records.cells import task_values

__all__ = ["FITS", "OUT_OF_MEMORY", "largest", "next_batch", "skipped"]

FITS, OUT_OF_MEMORY = "fits", "out_of_memory"
# Above 64 only multiples of 8 are tried: it saves three probes, and tensor cores want them
# (NVIDIA, Deep Learning Performance: "choose batch size ... to be divisible by 8").
_FINE, _STEP = 64, 8


def skipped(cell: Mapping[str, Any], ooms: Iterable[Mapping[str, Any]]) -> Optional[str]:
    """Return why a cell need not run: ``out of memory at N``, or None.

    :param ooms: the cells that ran out of memory. One with a smaller batch size and all else the
        same rules this cell out; a larger or the same batch size does not.
    """
    smaller = [
        oom["batch_size_per_device"]
        for oom in ooms
        if _without_batch(oom) == _without_batch(cell)
        and oom["batch_size_per_device"] < cell["batch_size_per_device"]
    ]
    return f"out of memory at {min(smaller)}" if smaller else None


def _without_batch(cell: Mapping[str, Any]) -> Dict[str, Any]:
    """Return all that the memory of one device depends on, but for the batch size."""
    return {**task_values(cell), "batch_size_per_device": None}


def next_batch(tried: Mapping[int, str], start: int, limit: int) -> Optional[int]:
    """Return the batch size to try next, None once the largest that runs is known.

    Doubles from ``start`` until the memory is exhausted or ``limit`` is reached, then bisects
    between the largest that fits and the smallest that does not; if ``start`` does not fit,
    below it. That takes at most 2 + 2 log2(limit) probes. The answer (:func:`largest`) is exact
    up to 64, above it the largest multiple of 8 (or start doubled, or limit) that fits.

    A larger batch is assumed to need more memory. Where results contradict that, a size above one
    that ran out of memory does not count as fitting, since it may fail the next time.

    :param tried: ``fits`` or ``out_of_memory`` by batch size per device.
    :param start: the batch size to begin with.
    :param limit: the largest batch size to try.
    :raises ValueError: not 1 <= start <= limit, or another word in ``tried``.
    """
    if not 1 <= start <= limit:
        raise ValueError(f"start {start}, limit {limit}: 1 <= start <= limit is needed")
    low, high = largest(tried) or 0, _smallest_oom(tried)
    if high is None:
        if low >= limit:
            return None
        return min(2 * low, limit) if low else start
    middle = (_position(low) + 1 + _position(high - 1)) // 2
    return _at(middle) if middle > _position(low) else None


def largest(tried: Mapping[int, str]) -> Optional[int]:
    """Return the largest batch size that fits below the smallest that does not; None for none.

    :param tried: as of :func:`next_batch`.
    :raises ValueError: another word in ``tried``.
    """
    high = _smallest_oom(tried)
    fitting = [
        batch for batch, how in tried.items() if how == FITS and (high is None or batch < high)
    ]
    return max(fitting, default=None)


def _smallest_oom(tried: Mapping[int, str]) -> Optional[int]:
    for batch, how in tried.items():
        if how not in (FITS, OUT_OF_MEMORY):
            raise ValueError(f"batch size {batch}: {how!r} is neither {FITS} nor {OUT_OF_MEMORY}")
    return min((batch for batch, how in tried.items() if how == OUT_OF_MEMORY), default=None)


def _position(batch: int) -> int:
    """Return how many of the batch sizes that may be tried are not above this one."""
    return batch if batch <= _FINE else _FINE + (batch - _FINE) // _STEP


def _at(position: int) -> int:
    return position if position <= _FINE else _FINE + (position - _FINE) * _STEP
