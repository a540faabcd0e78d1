"""The numbers of one run out of a reading: which run, which ranks, how each number is rounded."""

from __future__ import annotations

from math import fsum, isfinite
from operator import itemgetter

from ..rounding import ROUNDINGS
from ._rules import mean, middle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Sequence, Tuple

__all__ = ["chosen_run", "series"]

COMBINE = {"median": middle, "mean": mean, "sum": fsum}
# What the ranks of a log that every rank writes to stand for, by the scope of what they print.
USUAL = {"global": "median", "per_device": "mean", "rank": "sum"}


def chosen_run(reading: Mapping[str, Any], run: int) -> Dict[str, Any]:
    """Return one run of the file: 1 is the first, -1 the last that has observations.

    :raises ValueError: there is no such run.
    """
    runs: List[Dict[str, Any]] = reading["runs"]
    if run == -1:
        return next((one for one in reversed(runs) if one["count"]), runs[-1])
    if not 1 <= run <= len(runs):
        raise ValueError(f"no run {run}: the log has {len(runs)}")
    return runs[run - 1]


def series(
    reading: Mapping[str, Any], run: Mapping[str, Any], field: str, ranks: Any, round_each: str
) -> List[float]:
    """Return one field of a run's observations, one number for each time it was printed.

    :param ranks: ``auto``, ``all`` (as printed, rank by rank), ``first``, a rank's number, or how
        to make one number of all ranks' n-th: ``median``, ``mean``, ``sum``.
    :raises ValueError: nothing printed, no such rank, or no such rounding.
    """
    column = reading["observations"].column(field)
    first, count = run["first"], run["count"]
    values = [] if column is None else list(column[first : first + count])
    by_rank = _by_rank(reading, first, values)
    if round_each != "none":
        if round_each not in ROUNDINGS:
            raise ValueError(f"no rounding named {round_each!r}: use one of {', '.join(ROUNDINGS)}")
        rule = ROUNDINGS[round_each]
        by_rank = [(rank, [rule(value) for value in of]) for rank, of in by_rank]
    if ranks == "auto":
        ranks = USUAL[reading["scope"]]
    if ranks == "all":
        return values if round_each == "none" else [rule(v) for v in values if isfinite(v)]
    if not by_rank:
        return []
    if ranks == "first" or (len(by_rank) == 1 and ranks in COMBINE):
        return by_rank[0][1]
    if ranks in COMBINE:
        return [COMBINE[ranks](same) for same in zip(*map(itemgetter(1), by_rank))]
    for rank, of_rank in by_rank:
        if rank == ranks:
            return of_rank
    raise ValueError(f"no rank {ranks!r} in the log: it has {[int(rank) for rank, _ in by_rank]}")


def _by_rank(
    reading: Mapping[str, Any], first: int, values: Sequence[float]
) -> List[Tuple[float, List[float]]]:
    """Group finite values by the rank that printed them, in the order of ranks."""
    column = reading["observations"].column("rank")
    if column is None:
        kept = [value for value in values if isfinite(value)]
        return [(0.0, kept)] if kept else []
    groups: Dict[float, List[float]] = {}
    for rank, value in zip(column[first : first + len(values)], values):
        if isfinite(value):
            groups.setdefault(rank if isfinite(rank) else -1.0, []).append(value)
    return sorted(groups.items())
