"""Benchmarks side by side under the same conditions, as in DLPerf's summary tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..published.conditions import cell_conditions, plain_condition
from ..records.endings import count_key, group_words, groups
from ..records.factors import FACTORS, FORMER, factor_names, is_strong, own_values
from ..records.results import MeasuredCell, Results
from ..results.cells import deciding_speeds, ok_speeds, repeats_without_speed
from ..stats.median_ratio import fastest
from ..topology import sort_topologies

__all__ = ["across_frameworks"]

# The conditions of a table, each with its value.
Same = Tuple[Tuple[str, Any], ...]
# Two cells stand in one table when they agree in these, in their benchmarks' own factors and in
# what their throughput counts.
_SAME = ("model", "gpu", *factor_names(lambda factor: not factor.means))
# The parts of a variant that a table states for all of its columns.
_OF_THE_TABLE = re.compile(
    "|".join(one.pattern for one in (*FACTORS, *FORMER) if one.token and not one.means)
)


@dataclass(frozen=True)
class Column:
    """A benchmark of one of the results; ``factors`` are what varies within a table: xla, dali."""

    results: int
    benchmark: str
    framework: Optional[str]
    factors: str
    is_planned: bool


def across_frameworks(several: Sequence[Results]) -> List[Dict[str, Any]]:
    """Return a table for each set of conditions under which two or more benchmarks were planned.

    :param several: results of one campaign, or of one for each framework.
    :returns: for each table the conditions it holds for, ``unit``, ``columns`` (names) and
        ``rows``: topology; ``throughput`` and ``speedup`` by column, None where there is none;
        ``fastest``, the column whose lead over each other one is beyond noise, else None;
        ``repeats``, how many gave a speed; the reasons ``no_throughput`` and ``no_speedup`` by
        column. ``elsewhere``: of the benchmarks that agree in all but the batch size, the sizes
        that they were run with.
    """
    found: List[Tuple[Same, Any, Column, MeasuredCell]] = []
    for index, results in enumerate(several):
        for cell in results["cells"]:
            known = cell_conditions(cell, results, printed=False)
            if is_strong(known):
                # It follows from the global one and the topology, of which a table has several.
                known["batch_size_per_device"] = None
            same: Same = tuple((name, plain_condition(name, known)) for name in _SAME)
            own = own_values(cell)
            if own:
                same += (("own_factors", tuple(own.items())),)
            column = _column_of(index, cell, known["framework"])
            found.append((same, plain_condition("unit", known), column, cell))
    units: Dict[Same, Dict[Any, None]] = {}
    for same, unit, _, _ in found:
        units.setdefault(same, {}).update({unit: None} if unit else {})
    tables: Dict[Same, Dict[Column, Dict[str, MeasuredCell]]] = {}
    for same, unit, column, cell in found:
        # Without a throughput or in samples: in the unit of the others.
        of_others = next(iter(units[same])) if len(units[same]) == 1 else None
        table = (*same, ("unit", unit or of_others))
        tables.setdefault(table, {}).setdefault(column, {})[cell["topology"]] = cell
    return [
        _table(dict(same), columns, _elsewhere(same, tables), several)
        for same, columns in tables.items()
        if len({column.benchmark for column in columns}) > 1
        and any(cell["median_speed"] for cells in columns.values() for cell in cells.values())
    ]


def _elsewhere(same: Same, tables: Mapping[Same, Mapping[Column, Any]]) -> Dict[Column, List[int]]:
    """Return the batch sizes of the columns that only other tables have."""
    sizes: Dict[Column, List[int]] = {}
    for other, columns in tables.items():
        batch = dict(other)["batch_size_per_device"]
        if dict(other) == {**dict(same), "batch_size_per_device": batch}:
            for column in columns:
                if column not in tables[same]:
                    sizes.setdefault(column, []).append(batch)
    return sizes


def _table(
    same: Mapping[str, Any],
    columns: Mapping[Column, Mapping[str, MeasuredCell]],
    elsewhere: Mapping[Column, List[int]],
    several: Sequence[Results],
) -> Dict[str, Any]:
    campaigns = [str(results["campaign"]) for results in several]
    names = _column_names([*columns, *elsewhere], campaigns)
    places = sort_topologies({place for cells in columns.values() for place in cells})
    units = {cell["unit"] for cells in columns.values() for cell in cells.values() if cell["unit"]}
    own = {"own_factors": dict(same["own_factors"])} if "own_factors" in same else {}
    return {
        **same,
        **own,
        "unit": " or ".join(sorted(units)),
        "columns": [names[column] for column in columns],
        "elsewhere": {names[column]: sorted(sizes) for column, sizes in elsewhere.items()},
        "rows": [_row(place, columns, names, several) for place in places],
    }


def _row(
    place: str,
    columns: Mapping[Column, Mapping[str, MeasuredCell]],
    names: Mapping[Column, str],
    several: Sequence[Results],
) -> Dict[str, Any]:
    cells = {column: of.get(place) for column, of in columns.items()}
    there = {names[column]: cell for column, cell in cells.items() if cell}
    valid = {name: cell for name, cell in there.items() if cell["state"] != "invalid"}
    speeds = dict(zip(valid, deciding_speeds(*valid.values())))
    row: Dict[str, Any] = {
        "topology": place,
        "throughput": {names[c]: cell and cell["median_speed"] for c, cell in cells.items()},
        "speedup": {names[c]: cell and cell["speedup"] for c, cell in cells.items()},
        "fastest": fastest({name: runs for name, runs in speeds.items() if runs}),
        "repeats": {name: len(ok_speeds(cell)) for name, cell in there.items()},
        "no_throughput": {},
        "no_speedup": {},
    }
    for column, cell in cells.items():
        if cell is None or cell["median_speed"] is None:
            batch = next(iter(columns[column].values()))["batch_size_per_device"]
            why = _why_not(cell) if cell else _absent(place, column, batch, several)
            row["no_throughput"][names[column]] = why
        elif cell["speedup"] is None:
            row["no_speedup"][names[column]] = cell["speedup_reason"]
    return row


def _why_not(cell: MeasuredCell) -> str:
    """Return why a planned cell has no throughput: its state and the first reason."""
    without = repeats_without_speed(cell)
    reason = without[0]["reason"] or without[0]["ending"] if without else ""
    words = {count_key(group): group_words(group) for group in groups()}
    state = words.get(cell["state"], str(cell["state"]).replace("_", " "))
    return f"{state}: {reason}" if reason else state


def _absent(place: str, column: Column, batch: int, several: Sequence[Results]) -> str:
    """Return why there is no such cell; one with another batch size may be there instead."""
    results = several[column.results]
    sizes = sorted(
        {
            cell["batch_size_per_device"]
            for cell in results["cells"]
            if cell["topology"] == place
            and not is_strong(cell)
            and _column_of(column.results, cell, column.framework) == column
            and cell["batch_size_per_device"] != batch
        }
    )
    if sizes:
        return f"only with batch size {' and '.join(map(str, sizes))} per device"
    is_tree = "log_dir" in (results["provenance"].get("options") or {})
    return "no log" if is_tree else "not planned"


def _column_of(results: int, cell: MeasuredCell, framework: Optional[str]) -> Column:
    """Return the column of a cell.

    :param results: index of its results.
    :param framework: of ``conditions.cell_conditions``, None where it is not known.
    """
    parts = str(cell["variant"]).split("-")
    factors = ", ".join(part for part in parts if not _OF_THE_TABLE.fullmatch(part))
    plain = plain_condition("framework", {"framework": framework})
    return Column(results, cell["benchmark"], plain, factors, bool(cell.get("recipe")))


def _column_names(columns: Sequence[Column], campaigns: Sequence[str]) -> Dict[Column, str]:
    """Return a name for each column: the shortest form that is different for all columns.

    A campaign names a column by its benchmark, a tree of logs by the framework of the log format,
    since the names of its folders say less.

    :param campaigns: the name of each of the results.
    """
    forms: List[Dict[Column, str]] = [
        {c: c.benchmark if c.is_planned else c.framework or c.benchmark for c in columns},
        {c: c.benchmark for c in columns},
        {c: f"{c.benchmark} of {campaigns[c.results]}" for c in columns},
        {c: f"{c.benchmark} of {campaigns[c.results]} #{c.results + 1}" for c in columns},
    ]
    for names in forms:
        full = {c: f"{name} ({c.factors})" if c.factors else name for c, name in names.items()}
        if len(set(full.values())) == len(columns):
            break
    return full
