"""Observations as compact columns: 8 bytes a value, so that a log of any length can be held."""

from __future__ import annotations

from array import array
from math import fsum, isfinite, nan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

__all__ = ["FIELDS", "LIMIT", "Observations", "numbers"]

FIELDS = (
    "step",
    "epoch",
    "rank",
    "timestamp",
    "throughput",
    "loss",
    "accuracy",
    "memory",
    "seconds",
)
WHOLE = ("step", "epoch", "rank")
LIMIT = 1 << 20


class Observations:
    """The observations of one log, in the order in which they were printed.

    Reads like a list of dicts (``len``, index, iteration); :meth:`column` gives one field of all.
    The first ``limit`` observations are kept. Of those beyond it ``beyond`` holds the count, the
    sum and the sum of reciprocals of their throughputs, so that a mean stays exact and memory flat.

    Units: step and epoch as printed, timestamp in s (differences are meant, the time zone is
    unknown), throughput in the reading's unit, memory in MiB, seconds = time of the step(s) in s.
    """

    def __init__(self, scope: str = "global", limit: int = LIMIT) -> None:
        self.scope = scope
        self.limit = limit
        self.columns: Dict[str, array[float]] = {}
        self.stored = 0
        self.beyond = {"count": 0, "sum": 0.0, "reciprocals": 0.0}

    def __len__(self) -> int:
        return self.stored

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return (self[index] for index in range(self.stored))

    def __getitem__(self, index: int) -> Dict[str, Any]:
        if not -self.stored <= index < self.stored:
            raise IndexError(f"observation {index} of {self.stored}")
        row: Dict[str, Any] = {"scope": self.scope}
        for field in FIELDS:
            column = self.columns.get(field)
            value = nan if column is None else column[index]
            known = isfinite(value)
            row[field] = (int(value) if field in WHOLE else value) if known else None
        return row

    def column(self, field: str) -> Optional[array[float]]:
        """Return all values of one field (NaN where not printed), or None if no line had it."""
        return self.columns.get(field)

    def extend(self, rows: Mapping[str, Sequence[float]], count: int) -> None:
        """Add ``count`` observations given as columns of that length."""
        room = min(count, self.limit - self.stored)
        for field in rows:
            if field not in self.columns:
                self.columns[field] = array("d", [nan]) * self.stored
        for field, column in self.columns.items():
            values = rows.get(field)
            if values is None:
                column.extend(array("d", [nan]) * room)
            else:
                column.extend(values if room == count else values[:room])
        self.stored += room
        if room < count:
            rest = [value for value in rows.get("throughput", ())[room:] if isfinite(value)]
            self.beyond["count"] += count - room
            self.beyond["sum"] += fsum(rest)
            self.beyond["reciprocals"] += fsum(1 / value for value in rest if value)


def numbers(texts: Sequence[str]) -> List[float]:
    """Return texts as floats; NaN for what is none, such as the empty text of an absent field."""
    try:
        return list(map(float, texts))
    except ValueError:
        return [_number(text) for text in texts]


def _number(text: Union[str, float]) -> float:
    try:
        return float(text)
    except ValueError:
        return nan
