"""A campaign against what others published: figures that can be compared, and why others cannot."""

from __future__ import annotations

from itertools import product
from typing import Any, Dict, List, Mapping, Sequence, Set, Tuple

from ..records.cells import cell_key
from ..records.results import MeasuredCell, Results
from ..stats.log_ratio import MARGIN, check_margin
from .compare import compare_published, has_figure
from .conditions import cell_conditions, plain_conditions

__all__ = ["LEVEL", "against_published"]

Row = Mapping[str, Any]
# Of the intervals, as everywhere in a report.
LEVEL = 0.95
_SOURCE = (
    *("kind", "repository", "path", "commit", "date", "benchmark", "framework"),
    *("framework_version", "container", "gpu", "statistic", "repeats", "note"),
)
_COMPARED = (
    *(
        "ratio",
        "low",
        "high",
        "p_difference",
        "beyond_repeats",
        "finding",
        "why",
        "told",
        "errata",
        "measures",
    ),
)


def against_published(
    results: Results, published: Sequence[Row], margin: float = MARGIN
) -> Dict[str, Any]:
    """Return ``level``, ``margin``, ``rows``, ``stated``, ``compared`` and ``not_compared``.

    :param results: of ``results.build_results``; cells that measured nothing are left out.
    :param published: rows of ``rows.published_rows``; ``rows`` counts those with a figure.
    :param margin: half width of what counts as equivalent, as for campaigns.
    :returns: ``compared``: for a cell and a row of the same conditions cell, published (the row's
        id), source, measured and theirs (each throughput in units/s and speedup, None where
        there is none), ratio and what ``compare.compare`` says of it. ``not_compared``: for cells
        with the same reasons cells, never (the conditions that no row has), nearest (row's id),
        source, differences and unknown (condition, measured, published). Neither holds a ratio of
        what cannot be compared. ``other_units``: cells in a unit that no row has.
    :raises ValueError: an invalid margin; see ``compare.compare``.
    """
    check_margin(margin)
    figures = [row for row in published if has_figure(row)]
    by_id = {row["id"]: row for row in figures}
    plain = [plain_conditions(row) for row in figures]
    # By unit and condition: rows in another one say nothing of what was measured in this.
    known: Dict[Any, Dict[str, Set[Any]]] = {}
    for row in plain:
        for unit, (name, value) in product((row["unit"], None), row.items()):
            known.setdefault(unit, {}).setdefault(name, set()).add(value)
    compared: List[Dict[str, Any]] = []
    apart: List[Tuple[MeasuredCell, Row, List[Dict[str, Any]]]] = []
    alone: List[MeasuredCell] = []
    cells = [cell for cell in results["cells"] if figures and cell["median_speed"] is not None]
    # By its place: two cells may have the same name.
    measured = [
        {**cell_conditions(cell, results), "id": str(place)} for place, cell in enumerate(cells)
    ]
    nearest: Dict[str, List[Row]] = {}
    for one in compare_published(measured, figures, tolerance=margin, level=LEVEL):
        nearest.setdefault(one["cell"], []).append(one)
    for cell, conditions in zip(cells, measured):
        rows = nearest.get(conditions["id"])
        if rows is None:
            alone.append(cell)
        elif rows[0]["verdict"] == "comparable":
            compared += [_compared(cell, one, by_id[one["published"]]) for one in rows]
        else:
            apart.append((cell, rows[0], _never(conditions, known)))
    return {
        "level": LEVEL,
        "margin": margin,
        "rows": len(figures),
        "stated": (results["provenance"].get("options") or {}).get("conditions") or {},
        "compared": compared,
        "not_compared": _by_reasons(apart, by_id),
        "other_units": [cell_key(cell).labels for cell in alone],
    }


def _source_of(row: Row) -> Dict[str, Any]:
    """Return the source of a published row: document of ``published/``, url, and what it says."""
    url = f"https://github.com/{row['repository']}"
    if row.get("commit"):
        url += f"/blob/{row['commit']}/{row['path']}"
        url += f"#L{row['line']}" if row.get("line") else ""
    return {"document": row["source"], "url": url, **{key: row.get(key) for key in _SOURCE}}


def _compared(cell: MeasuredCell, one: Row, row: Row) -> Dict[str, Any]:
    return {
        "cell": cell_key(cell).labels,
        "published": one["published"],
        "source": _source_of(row),
        "measured": {"throughput": cell["median_speed"], "speedup": cell["speedup"]},
        "theirs": {"throughput": row["throughput"], "speedup": row.get("speedup")},
        **{key: one[key] for key in _COMPARED},
    }


def _never(measured: Row, known: Mapping[Any, Mapping[str, Any]]) -> List[Dict[str, Any]]:
    """Return the conditions of a cell that no published row in its unit has."""
    values = plain_conditions(measured)
    published = known[values["unit"]]
    return [
        {"condition": name, "measured": value}
        for name, value in values.items()
        if value is not None and value not in published.get(name, ())
    ]


def _by_reasons(
    apart: Sequence[Tuple[MeasuredCell, Row, List[Dict[str, Any]]]], by_id: Mapping[str, Row]
) -> List[Dict[str, Any]]:
    """Return the cells that share their reasons together, with the row nearest to any of them.

    The reasons are the conditions that no row has; without any, those in which the nearest row
    differs from the cell, or may differ.
    """
    groups: Dict[str, List[Tuple[MeasuredCell, Row, List[Dict[str, Any]]]]] = {}
    for cell, nearest, never in apart:
        unknown = [(item["condition"], item["measured"]) for item in nearest["unknown"]]
        reasons = str(never or (nearest["differences"], unknown))
        groups.setdefault(f"{cell['benchmark']} {reasons}", []).append((cell, nearest, never))
    groups_apart = []
    for members in groups.values():
        nearest = min(
            (one for _, one, _ in members), key=lambda one: len(one["differences"] + one["unknown"])
        )
        groups_apart.append(
            {
                "cells": [cell_key(cell).labels for cell, _, _ in members],
                "never": members[0][2],
                "nearest": nearest["published"],
                "source": _source_of(by_id[nearest["published"]]),
                "differences": nearest["differences"],
                "unknown": nearest["unknown"],
            }
        )
    return groups_apart
