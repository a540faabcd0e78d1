"""From a plan and the records of its repeats to results.json: facts, units, provenance, cells."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ..records.cells import CellKey, cell_key
from ..records.endings import count_key, ending_names, groups, never_ran
from ..records.node_names import machines_of
from ..records.plans import Cell
from ..records.results import Adaptive, MeasuredCell, Results
from ..records.runs import RunRecord
from ..running.policy import MOST_REPEATS, enough_repeats
from .cells import add_checks, add_facts, measure_cell, ok_speeds, repeats_without_speed
from .collectives import collectives
from .drift import drifts
from .other_runs import interference, packing, resolve_searches
from .prediction import predictions
from .provenance import provenance, units
from .repeats import attempt_of, repeat_of
from .step_parts import step_parts
from .strong_scaling import strong_scaling

__all__ = ["SCHEMA", "build_results", "only_facts"]

SCHEMA = 3
Attempts = Mapping[str, Sequence[RunRecord]]


def build_results(
    plan: Mapping[str, Any],
    runs: Sequence[RunRecord],
    unmatched: Sequence[Mapping[str, str]] = (),
    attempts: Mapping[str, Sequence[RunRecord]] = {},
) -> Results:
    """Return everything that results.json holds, of a campaign or of a tree of logs.

    ``facts`` are nested by the keys of a cell. ``failures`` are the repeats and
    searches that make a campaign fail.

    :param plan: plan.json, or what stands for one: {campaign, cells, nodes, options}.
    :param runs: run records of schema 1 or 2, ``facts`` those of the log. Only those of kind
        ``measured``, as all of schema 1 are, make cells.
    :param unmatched: {path, reason} of files that are not a log.
    :param attempts: by log, the records of its earlier attempts, oldest first.
    :raises ValueError: a speed is not a number above 0.
    """
    options = plan.get("options") or {}
    measured = _of_kind(runs, "measured")
    planned, searches = resolve_searches(plan.get("cells", ()), _of_kind(runs, "search"))
    machines = machines_of(plan.get("nodes") or {})
    cells = []
    for cell, own in _runs_by_cell(planned, measured):
        repeats = [repeat_of(run, attempts.get(run.get("log", ""), ()), machines) for run in own]
        result = measure_cell(cell, repeats)
        result["adaptive"] = _adaptive(result, cell, options)
        result["unfinished"] = _unfinished(cell, runs, attempts)
        cells.append(result)
    facts = add_facts(cells)
    add_checks(cells, facts, machines)
    alone = interference(cells, [repeat_of(run) for run in _of_kind(runs, "alone")])
    packed = packing(options.get("packing", "none"), cells)
    results: Results = {
        "schema": SCHEMA,
        "campaign": plan.get("campaign"),
        "facts": facts,
        "units": units(cells),
        "provenance": provenance(plan, measured, cells),
        "counts": {**_counts(cells), "unmatched": len(unmatched)},
        "cells": cells,
        "searches": searches,
        "packing": packed,
        "interference": alone if packed else None,
        "failures": _failures(cells, [*searches, alone], runs),
        "unmatched": [dict(entry) for entry in unmatched],
    }
    if options.get("duration"):
        results["drift"] = drifts(cells)
    strong = strong_scaling(cells)
    if strong:
        results["strong_scaling"] = strong
    messages = collectives(cells, plan.get("nodes") or {})
    if messages:
        results["collectives"] = messages
    parts = step_parts(cells, plan.get("nodes") or {})
    if parts:
        results["step_parts"] = parts
    predicted = predictions(cells)
    if predicted:
        results["predictions"] = predicted
    return results


def _of_kind(runs: Sequence[RunRecord], kind: str) -> List[RunRecord]:
    return [run for run in runs if run.get("kind", "measured") == kind]


def _runs_by_cell(
    planned: Sequence[Cell], runs: Sequence[RunRecord]
) -> List[Tuple[Cell, List[RunRecord]]]:
    """Return every planned cell, then those that only a record has, each with its records."""
    by_cell: Dict[CellKey, Tuple[Cell, List[RunRecord]]] = {}
    for cell in [*planned, *(run["cell"] for run in runs)]:
        by_cell.setdefault(cell_key(cell), (cell, []))
    for run in runs:
        by_cell[cell_key(run["cell"])][1].append(run)
    return list(by_cell.values())


def _adaptive(cell: MeasuredCell, planned: Cell, options: Mapping[str, Any]) -> Optional[Adaptive]:
    """Return whether a cell has enough repeats, None where their number was fixed."""
    if not options.get("half_width") or all(never_ran(r["ending"]) for r in cell["repeats"]):
        return None
    speeds = [repeat["throughput"] for repeat in cell["repeats"]]
    most = options.get("max_repeats", MOST_REPEATS)
    # A cell that only a record has may be of another plan.
    least = min(planned.get("repeats") or 0, most)
    return enough_repeats(speeds, least, most, options["half_width"])


def _unfinished(cell: Cell, runs: Sequence[RunRecord], attempts: Attempts) -> List[Dict[str, Any]]:
    """Return the repeats that are to run again and have not yet, with their attempts so far."""
    ended = {run.get("log") for run in runs}
    return [
        {"log": log, "earlier": [attempt_of(record) for record in records]}
        for log, records in attempts.items()
        if log not in ended and cell_key(records[-1]["cell"]) == cell_key(cell)
    ]


def _counts(cells: Sequence[MeasuredCell]) -> Dict[str, int]:
    by_group = {
        count_key(group): sum(len(repeats_without_speed(cell, group)) for cell in cells)
        for group in groups()
    }
    return {
        "cells": len(cells),
        "planned": sum(cell["repeats_planned"] for cell in cells),
        "ok": sum(len(ok_speeds(cell)) for cell in cells),
        **by_group,
        "not_run": sum(len(cell["not_run"]) for cell in cells),
    }


def _failures(
    cells: Sequence[MeasuredCell],
    others: Sequence[Mapping[str, Any]],
    runs: Sequence[RunRecord],
) -> List[Dict[str, Any]]:
    """Return the repeats and searches that make a campaign fail.

    Where anything was measured, cells that no provisioning could make available are excused.

    :param others: searches and repeats alone, with their ``failures``.
    """
    excused: Set[str] = set()
    if any(ok_speeds(cell) for cell in cells):
        excused = {
            str(run.get("log"))
            for run in runs
            if run.get("ending") == "unavailable" and run["cell"].get("excused")
        }
    harmless = ending_names(fails=False)
    repeats = [
        repeat
        for cell in cells
        for repeat in repeats_without_speed(cell)
        if repeat["ending"] not in harmless and repeat["log"] not in excused
    ]
    entries: List[Mapping[str, Any]] = [
        *repeats,
        *(entry for other in others for entry in other["failures"]),
    ]
    return [{key: entry[key] for key in ("log", "ending", "reason")} for entry in entries]


def only_facts(results: Results) -> Dict[str, Any]:
    """Return the facts in the shape of the reference efforts: {model: {topology: {…}}}.

    A tree of one group of cells gives exactly that; a tree of several keeps the
    nesting.
    """
    facts: Dict[str, Any] = results["facts"]
    variants = [
        models
        for precisions in facts.values()
        for by_variant in precisions.values()
        for models in by_variant.values()
    ]
    return variants[0] if len(variants) == 1 else facts
