"""The columns of a table across frameworks: which cells are one, and what it is called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..published.conditions import plain_condition
from ..records.factors import FACTORS

__all__ = ["Column", "column_names", "column_of"]

# The parts of a variant that a table states for all of its columns.
_OF_THE_TABLE = re.compile(
    "|".join(factor.pattern for factor in FACTORS if factor.token and not factor.means)
)


@dataclass(frozen=True)
class Column:
    """A benchmark of one of the results, with what varies of it within a table: xla, dali."""

    results: int
    benchmark: str
    framework: Optional[str]
    factors: str
    is_planned: bool


def column_of(results: int, cell: Mapping[str, Any], framework: Optional[str]) -> Column:
    """Return the column of a cell.

    :param results: index of its results.
    :param framework: of ``cell_conditions.cell_conditions``, None where it is not known.
    """
    parts = str(cell["variant"]).split("-")
    factors = ", ".join(part for part in parts if not _OF_THE_TABLE.fullmatch(part))
    plain = plain_condition("framework", {"framework": framework})
    return Column(results, cell["benchmark"], plain, factors, bool(cell.get("recipe")))


def column_names(columns: Sequence[Column], campaigns: Sequence[str]) -> Dict[Column, str]:
    """Return a name for each column: the shortest kind that tells all of them apart.

    A campaign's benchmarks have names of their own. A tree of logs has folders, which say less
    than the framework that the format of a log tells.

    :param campaigns: the name of each of the results.
    """
    kinds: List[Dict[Column, str]] = [
        {c: c.benchmark if c.is_planned else c.framework or c.benchmark for c in columns},
        {c: c.benchmark for c in columns},
        {c: f"{c.benchmark} of {campaigns[c.results]}" for c in columns},
        {c: f"{c.benchmark} of {campaigns[c.results]} #{c.results + 1}" for c in columns},
    ]
    for names in kinds:
        full = {c: f"{name} ({c.factors})" if c.factors else name for c, name in names.items()}
        if len(set(full.values())) == len(columns):
            break
    return full
