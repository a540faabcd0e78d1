"""Averages of the throughputs of one run."""

from __future__ import annotations

from math import fsum, isfinite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Optional, Sequence

__all__ = ["AVERAGES", "interval", "middle", "take"]


def take(
    values: Sequence[float],
    warmup: int,
    iterations: Optional[int],
    drop_last: int,
    fewer: bool = False,
) -> Sequence[float]:
    """Return the measured values: without the first ``warmup`` and the last ``drop_last``.

    :param iterations: number of values after the warm-up, before ``drop_last``; None for all.
    :param fewer: whether fewer values do as well.
    :raises ValueError: there are fewer values.
    """
    if iterations is not None and len(values) < warmup + iterations and not fewer:
        raise ValueError(
            f"{len(values)} observations, {warmup + iterations} needed: {warmup} of warm-up and"
            f" {iterations} measured"
        )
    end = len(values) if iterations is None else warmup + iterations
    taken = values[warmup : end - drop_last]
    if not len(taken):
        raise ValueError(
            f"no observation after a warm-up of {warmup} among {len(values)}"
            + (f", less the last {drop_last}" if drop_last else "")
        )
    return taken


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean."""
    return fsum(values) / len(values)


def middle(values: Sequence[float]) -> float:
    """Return the median; of an even count the mean of the two middle values."""
    ranked = sorted(values)
    half = len(ranked) // 2
    return ranked[half] if len(ranked) % 2 else (ranked[half - 1] + ranked[half]) / 2


def harmonic(values: Sequence[float]) -> float:
    """Return n / sum(1/x), which is total work over total time for values of equal work.

    :raises ValueError: a value is not above zero.
    """
    if min(values) <= 0:
        raise ValueError("a harmonic mean needs throughputs above 0")
    return len(values) / fsum(1 / value for value in values)


def trimmed(values: Sequence[float], trim: float = 0.05, trim_least: int = 5) -> float:
    """Return the mean without the k = max(trim_least, floor(trim * n)) lowest and highest values.

    :raises ValueError: no value is left.
    """
    drop = max(trim_least, int(trim * len(values)))
    kept = sorted(values)[drop : len(values) - drop]
    if not kept:
        raise ValueError(f"none of {len(values)} observations left, {drop} dropped at both ends")
    return mean(kept)


def last(values: Sequence[float]) -> float:
    """Return the last value."""
    return values[-1]


AVERAGES: Dict[str, Callable[..., float]] = {
    "mean": mean,
    "median": middle,
    "harmonic": harmonic,
    "trimmed": trimmed,
    "last": last,
}


def interval(stamps: Sequence[float], first: int, final: int) -> float:
    """Return the time in s from observation ``first`` to observation ``final``, counted from 1.

    :raises ValueError: there are fewer observations, they have no times, or no time passes.
    """
    if not 1 <= first < final <= len(stamps):
        raise ValueError(f"{len(stamps)} observations: no interval from {first} to {final}")
    elapsed = stamps[final - 1] - stamps[first - 1]
    if not isfinite(elapsed) or elapsed <= 0:
        raise ValueError(f"no time passes from observation {first} to {final}: {elapsed} s")
    return elapsed
