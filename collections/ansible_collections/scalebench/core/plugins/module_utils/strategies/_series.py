"""The numbers of one run of a reading: selection of the run and of its ranks, and averages."""

from __future__ import annotations

from math import fsum, isfinite, nan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

__all__ = [
    "AVERAGES",
    "chosen_run",
    "harmonic",
    "interval",
    "middle",
    "series",
    "take",
]


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
_COMBINE = {"median": middle, "mean": mean, "sum": fsum}
# How to combine the ranks of a log, by the scope of what they print.
_USUAL_RANKS = {"global": "median", "per_device": "mean", "rank": "sum"}


def chosen_run(reading: Mapping[str, Any], run: int) -> Dict[str, Any]:
    """Return one run of the file: 1 is the first, -1 the last that has observations.

    :raises ValueError: there is no such run.
    """
    runs: List[Dict[str, Any]] = reading["runs"]
    if run == -1:
        return next((candidate for candidate in reversed(runs) if candidate["count"]), runs[-1])
    if isinstance(run, bool) or not isinstance(run, int) or not 1 <= run <= len(runs):
        raise ValueError(f"no run {run!r}: the log has {len(runs)}")
    return runs[run - 1]


def series(
    reading: Mapping[str, Any],
    run: Mapping[str, Any],
    field: str,
    ranks: Any = "auto",
    devices: Optional[int] = None,
) -> Sequence[float]:
    """Return the values of one field in a run, in the order of printing.

    Values that are not finite are left out; a field that was never printed has none.

    :param ranks: as in ``_table.SOURCES``.
    :param devices: number of lines of a row, for ``rows``.
    :raises ValueError: unknown rank or way to combine ranks, or an incomplete last row.
    """
    observations = reading["observations"]
    column = observations.column(field)
    first, end = run["first"], run["first"] + run["count"]
    if column is None:
        return []
    values = column[first:end]
    printed = observations.column("rank")
    if ranks == "rows":
        return _rows(values, devices, field)
    if ranks == "all" or printed is None:
        if ranks not in ("all", "auto", "first") and ranks not in _COMBINE:
            raise ValueError(f"no rank {ranks!r}: the log does not print ranks")
        if ranks == "first":
            values = _once(reading, run, values)
        return values if isfinite(sum(values)) else [v for v in values if isfinite(v)]
    by_rank = _by_rank(printed[first:end], values)
    return _of_ranks(by_rank, _USUAL_RANKS[reading["scope"]] if ranks == "auto" else ranks)


def _once(reading: Mapping[str, Any], run: Mapping[str, Any], values: Any) -> Any:
    """Return the first value of every step: several ranks may print it, without a tag."""
    observations = reading["observations"]
    steps, epochs = observations.column("step"), observations.column("epoch")
    if steps is None or run["assumed"].get("world_size", 1) == 1:
        return values
    own = slice(run["first"], run["first"] + run["count"])
    first: Dict[Any, float] = {}
    for step, value in zip(zip((epochs or steps)[own], steps[own]), values):
        first.setdefault(step, value)
    return list(first.values())


def _of_ranks(by_rank: List[Tuple[float, List[float]]], ranks: Any) -> List[float]:
    """Return the values of one rank, or the combination of the n-th values of all ranks."""
    if not by_rank:
        return []
    if ranks == "first" or (len(by_rank) == 1 and ranks in _COMBINE):
        return by_rank[0][1]
    if ranks in _COMBINE:
        return [_COMBINE[ranks](same) for same in zip(*(of for _rank, of in by_rank))]
    for rank, of_rank in by_rank:
        if rank == ranks:
            return of_rank
    names = ", ".join(str(int(rank)) for rank, _of in by_rank)
    raise ValueError(f"no rank {ranks!r} in the log: it has {names}; or use {', '.join(_COMBINE)}")


def _by_rank(ranks: Sequence[float], values: Sequence[float]) -> List[Tuple[float, List[float]]]:
    """Return the finite values by the rank that printed them, sorted by rank."""
    groups: Dict[float, List[float]] = {}
    for rank, value in zip(ranks, values):
        if isfinite(value):
            groups.setdefault(rank if isfinite(rank) else -1.0, []).append(value)
    return sorted(groups.items())


def _rows(values: Sequence[float], devices: Optional[int], field: str) -> List[float]:
    """Return the median of each row of one line per device; of times and steps the last value.

    :raises ValueError: the last row is incomplete.
    """
    size = devices or 1
    if len(values) % size:
        raise ValueError(f"{len(values)} lines cannot be divided into rows of {size} devices")
    rows = [list(values[at : at + size]) for at in range(0, len(values), size)]
    if field in ("timestamp", "step"):
        return [row[-1] for row in rows]
    kept = [[value for value in row if isfinite(value)] for row in rows]
    return [middle(row) if row else nan for row in kept]


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
