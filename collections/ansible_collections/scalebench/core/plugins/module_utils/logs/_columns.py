"""Observations as compact columns of 8 bytes per value, for logs of any length."""

from __future__ import annotations

from array import array
from json import loads
from math import fsum, inf, isfinite, isnan, nan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, Mapping, Optional, Sequence

__all__ = [
    "ABSURD",
    "FIELDS",
    "LIMIT",
    "TINY",
    "WHOLE",
    "Observations",
    "losses",
    "numbers",
    "whole_numbers",
]

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
# What is computed from two figures between them is finite.
ABSURD, TINY = 1e15, 1e-30


class Observations:
    """The observations of one log, in the order in which they were printed.

    It behaves like a list of dicts (``len``, index, iteration); :meth:`column` returns one field of
    all. The first ``limit`` observations are kept. For the others ``beyond`` has the count, the sum
    and the sum of reciprocals of their throughputs, so that means stay exact in constant memory.

    Units: step and epoch as printed, timestamp in s (only differences are meaningful, the time zone
    is unknown), throughput in the reading's unit, accuracy as printed with the step, memory in MiB,
    seconds = duration of the step or steps in s.
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
        """Return all values of one field (NaN where not printed); None if no line has it.

        A loss printed as nan or inf is inf.
        """
        return self.columns.get(field)

    def extend(self, rows: Mapping[str, array[float]], count: int) -> None:
        """Add ``count`` observations, given as columns of that length."""
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
        if room < count and "throughput" in rows:
            rest = [value for value in rows["throughput"][room:] if isfinite(value)]
            self.beyond["count"] += len(rest)
            self.beyond["sum"] += fsum(rest)
            self.beyond["reciprocals"] += fsum(1 / value for value in rest if value)


def numbers(texts: Sequence[str]) -> array[float]:
    """Return texts as numbers; NaN for an absent field, words, nan, inf, or an absurd number.

    A number too small to be a figure is 0.
    """
    values = _numbers(texts)
    # Of numbers below a limit with such a sum, none is far below its negative.
    if abs(sum(values)) < ABSURD and max(values) < ABSURD and min(map(abs, values)) > TINY:
        return values
    return array("d", map(_figure, values))


def _figure(value: float) -> float:
    if abs(value) < TINY:
        return 0.0
    return value if abs(value) < ABSURD else nan


def _numbers(texts: Sequence[str]) -> array[float]:
    if texts[0] == texts[-1] and texts.count(texts[0]) == len(texts):
        return array("d", [_number(texts[0])]) * len(texts)
    try:
        return array("d", map(float, texts))
    except ValueError:
        return array("d", map(_number, texts))


def whole_numbers(texts: Sequence[str]) -> array[float]:
    """Return texts of digits as numbers; json parses them three times as fast as float."""
    if texts[0] != texts[-1] or texts.count(texts[0]) != len(texts):
        try:
            return array("d", loads(f"[{','.join(texts)}]"))
        except (ValueError, TypeError):
            pass
    return numbers(texts)


def losses(texts: Sequence[str]) -> array[float]:
    """Return losses as numbers: NaN if not printed, inf if the printed text is not a number."""
    values = numbers(texts)
    if not isnan(sum(values)):
        return values
    return array("d", [inf if isnan(v) and text else v for v, text in zip(values, texts)])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan
