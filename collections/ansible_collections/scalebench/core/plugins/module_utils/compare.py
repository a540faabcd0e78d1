"""A measured set against published figures: comparable or not and why, and only then a ratio."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.conditions import judge
from ansible_collections.scalebench.core.plugins.module_utils.statistics import (
    finite,
    median,
    median_interval,
    ratio_interval,
)

__all__ = ["compare", "compare_published"]

Row = Dict[str, Any]

_KINDS = ("seed", "official", "extra")


def _speeds(row: Mapping[str, Any]) -> List[float]:
    runs = row.get("runs") or {}
    values = list(runs.values()) if isinstance(runs, Mapping) else list(runs)
    return finite(values, "runs") if values else []


def _throughput(row: Mapping[str, Any], side: str) -> float:
    """Return the throughput in images/s, or else the median of the runs."""
    value = row.get("throughput") or (median(_speeds(row)) if _speeds(row) else None)
    if value is None:
        raise ValueError(f"{side} {row.get('id') or row.get('topology')}: no throughput to compare")
    return finite([value], f"throughput of the {side}")[0]


def _finding(runs: List[float], theirs: List[float], figure: float, margin: Row) -> Row:
    """Say whether the ratio is equivalent to 1, from the interval of the measured median.

    Equivalence is shown when the whole interval lies within 1 +- tolerance (two one-sided tests at
    (1 - level) / 2). The interval comes from order statistics, whose coverage holds for few
    repeats, or by the bootstrap where the published runs are known too.
    """
    tolerance, level = margin["tolerance"], margin["level"]
    needed = next((n for n in range(2, 200) if 1 - 2.0 ** (1 - n) >= level), 200)
    if len(runs) < needed:
        why = f"{len(runs)} repeat(s) known, {needed} needed for an interval of {level}"
        return {"low": None, "high": None, "finding": "undecided", "why": why}
    if len(theirs) >= needed:
        interval, basis = ratio_interval(runs, theirs, level), "runs of both sides"
        low, high = interval["low"], interval["high"]
    else:
        interval, basis = median_interval(runs, level, "order"), "published figure taken as exact"
        low, high = interval["low"] / figure, interval["high"] / figure
    finding = "undecided"
    if low >= 1 - tolerance and high <= 1 + tolerance:
        finding = "equivalent"
    elif low > 1 + tolerance:
        finding = "faster"
    elif high < 1 - tolerance:
        finding = "slower"
    why = f"interval {low:.4f} to {high:.4f} of the ratio, margin {tolerance:g}, {basis}"
    return {"low": low, "high": high, "finding": finding, "why": why}


def compare(
    measured: Mapping[str, Any],
    published: Mapping[str, Any],
    waive: Sequence[str] = (),
    *,
    tolerance: float = 0.05,
    level: float = 0.9,
) -> Row:
    """Compare one measured cell with one published row.

    ``measured``: a cell's conditions (framework, model, gpu or ``device: cpu``, topology,
    precision, batch_size_per_device, …), ``runs`` in images/s, and ``throughput``, by default
    their median. ``waive`` names conditions whose difference is accepted, and told in the result.
    Returns what :func:`conditions.judge` does, both throughputs, and ratio, low, high, finding
    (equivalent, faster, slower, undecided): None unless the verdict is comparable.

    :raises ValueError: a condition to waive is none, or a side has no throughput.
    """
    ours = _throughput(measured, "measured set")
    theirs = _throughput(published, "published row")
    judged = judge(measured, published, waive)
    result: Row = {
        "published": published.get("id"),
        "kind": published.get("kind"),
        **judged,
        "measured_throughput": ours,
        "published_throughput": theirs,
        "errata": list(published.get("errata") or []),
    }
    if judged["verdict"] != "comparable":
        return {**result, "ratio": None, "low": None, "high": None, "finding": None}
    margin = {"tolerance": tolerance, "level": level}
    found = _finding(_speeds(measured), _speeds(published), theirs, margin)
    return {**result, "ratio": ours / theirs, **found}


def compare_published(
    measured: Any,
    published: Sequence[Mapping[str, Any]],
    waive: Sequence[str] = (),
    *,
    tolerance: float = 0.05,
    level: float = 0.9,
    nearest: int = 1,
) -> List[Row]:
    """Compare each measured cell with the published rows that are nearest to it.

    Returned per cell: every comparable row; where there is none, the ``nearest`` rows by the
    number of conditions that differ or are unknown. ``measured``: one cell or a list of them, see
    :func:`compare`; ``cell`` in a result is the cell's id, directory or topology.

    :raises ValueError: see :func:`compare`.
    """
    results: List[Row] = []
    for cell in [measured] if isinstance(measured, Mapping) else list(measured):
        name = cell.get("id") or cell.get("directory") or cell.get("topology") or ""
        rows = [
            {"cell": name, **compare(cell, row, waive, tolerance=tolerance, level=level)}
            for row in published
            if row.get("throughput")
        ]

        def distance(row: Row) -> Any:
            kind = row["kind"] if row["kind"] in _KINDS else _KINDS[-1]
            return len(row["differences"]) + len(row["unknown"]), _KINDS.index(kind)

        rows.sort(key=distance)
        results += [r for r in rows if r["verdict"] == "comparable"] or rows[:nearest]
    return results
