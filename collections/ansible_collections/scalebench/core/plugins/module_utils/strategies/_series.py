"""The numbers of one run of a reading: selection of the run and of its ranks."""

from __future__ import annotations

from math import fsum, isfinite, nan

from ._rules import mean, middle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

__all__ = ["COMBINE", "USUAL_RANKS", "chosen_run", "series"]

COMBINE = {"median": middle, "mean": mean, "sum": fsum}
# How to combine the ranks of a log, by the scope of what they print.
USUAL_RANKS = {"global": "median", "per_device": "mean", "rank": "sum"}


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
        if ranks not in ("all", "auto", "first") and ranks not in COMBINE:
            raise ValueError(f"no rank {ranks!r}: the log does not print ranks")
        if ranks == "first":
            values = _once(reading, run, values)
        return values if isfinite(sum(values)) else [v for v in values if isfinite(v)]
    by_rank = _by_rank(printed[first:end], values)
    return _of_ranks(by_rank, USUAL_RANKS[reading["scope"]] if ranks == "auto" else ranks)


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
    if ranks == "first" or (len(by_rank) == 1 and ranks in COMBINE):
        return by_rank[0][1]
    if ranks in COMBINE:
        return [COMBINE[ranks](same) for same in zip(*(of for _rank, of in by_rank))]
    for rank, of_rank in by_rank:
        if rank == ranks:
            return of_rank
    names = ", ".join(str(int(rank)) for rank, _of in by_rank)
    raise ValueError(f"no rank {ranks!r} in the log: it has {names}; or use {', '.join(COMBINE)}")


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
