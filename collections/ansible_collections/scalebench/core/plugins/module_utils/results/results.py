"""From a plan and the records of its repeats to results.json: facts, units, provenance, cells."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Set, Tuple

from ..running import adaptive
from .interference import interference, packing
from ..running.policy import MOST_REPEATS
from .provenance import provenance, units
from .repeat_telemetry import machines_of
from ..records.cells import cell_key
from .cells import measure_cell, ok_speeds
from .facts import BASELINE, add_facts, check
from .repeats import NEVER_RAN, attempt_of, repeat_of
from .searches import resolve

__all__ = ["build_results", "only_facts"]

SCHEMA = 2
Run = Mapping[str, Any]


def build_results(
    plan: Mapping[str, Any],
    runs: Sequence[Run],
    unmatched: Sequence[Mapping[str, str]] = (),
    attempts: Mapping[str, Sequence[Run]] = {},
) -> Dict[str, Any]:
    """Return everything that results.json holds.

    ``facts`` are the seeds', nested by benchmark, precision and variant. ``failures`` are the
    repeats that make a campaign fail: all that ended unwell or could not run, searches that found
    nothing among them; not those that were skipped because a smaller batch ran out of memory, nor,
    where anything was measured, those that nobody could have made available.

    :param plan: plan.json, or what stands for one: {campaign, cells, nodes, options}.
    :param runs: run records of schema 1 or 2, ``facts`` those of the log. Only those of kind
        ``measured``, as all of schema 1 are, make cells.
    :param unmatched: {path, reason} of files that are no log.
    :param attempts: by log, the records of its earlier attempts, oldest first.
    :raises ValueError: a speed is no number above 0.
    """
    options = plan.get("options") or {}
    machines = machines_of(plan.get("nodes") or {})
    measured = _of_kind(runs, "measured")
    planned, searches = resolve(plan.get("cells", ()), _of_kind(runs, "search"))
    known = _cells(planned, measured)
    cells = [
        measure_cell(
            cell, [repeat_of(run, attempts.get(run.get("log", ""), ()), machines) for run in own]
        )
        for cell, own in known
    ]
    for cell, (wanted, _) in zip(cells, known):
        cell["adaptive"] = _adaptive(cell, wanted, options)
        cell["unfinished"] = _unfinished(cell, runs, attempts)
    facts = add_facts(cells)
    check(cells, facts)
    alone = interference(cells, [repeat_of(run) for run in _of_kind(runs, "alone")])
    packed = packing(options.get("packing", "none"), cells)
    return {
        "schema": SCHEMA,
        "campaign": plan.get("campaign"),
        "facts": facts,
        "units": units(cells),
        "provenance": provenance(plan, measured, cells, BASELINE),
        "counts": {
            "cells": len(cells),
            "planned": sum(cell["repeats_planned"] for cell in cells),
            "ok": sum(len(ok_speeds(cell)) for cell in cells),
            "failed": sum(len(cell["failures"]) for cell in cells),
            "unavailable": sum(len(cell["unavailable"]) for cell in cells),
            "skipped": sum(len(cell["skipped"]) for cell in cells),
            "not_run": sum(len(cell["not_run"]) for cell in cells),
            "unmatched": len(unmatched),
        },
        "cells": cells,
        "searches": searches,
        "packing": packed,
        "interference": alone if packed else None,
        "failures": _failures(cells, [*searches, alone], _excused(runs)),
        "unmatched": list(unmatched),
    }


def _of_kind(runs: Sequence[Run], kind: str) -> List[Run]:
    return [run for run in runs if run.get("kind", "measured") == kind]


def _cells(
    planned: Sequence[Mapping[str, Any]], runs: Sequence[Run]
) -> List[Tuple[Mapping[str, Any], List[Run]]]:
    """Return every planned cell, then those that only a record knows, each with its records."""
    known: Dict[Tuple[str, ...], Tuple[Mapping[str, Any], List[Run]]] = {}
    for cell in [*planned, *(run["cell"] for run in runs)]:
        known.setdefault(cell_key(cell), (cell, []))
    for run in runs:
        known[cell_key(run["cell"])][1].append(run)
    return list(known.values())


def _adaptive(
    cell: Mapping[str, Any], wanted: Mapping[str, Any], options: Mapping[str, Any]
) -> Any:
    """Return the verdict of ``adaptive.enough``, None where the number of repeats was fixed."""
    ran = [repeat for repeat in cell["repeats"] if repeat["ending"] not in NEVER_RAN]
    if not options.get("half_width") or not ran:
        return None
    speeds = [repeat["throughput"] for repeat in cell["repeats"]]
    most = options.get("max_repeats", MOST_REPEATS)
    return adaptive.enough(speeds, wanted["repeats"], most, options["half_width"])


def _unfinished(
    cell: Mapping[str, Any], runs: Sequence[Run], attempts: Mapping[str, Sequence[Run]]
) -> List[Dict[str, Any]]:
    """Return the repeats that are to run again and have not yet, with their attempts so far."""
    ended = {run.get("log") for run in runs}
    return [
        {"log": log, "earlier": [attempt_of(one) for one in made]}
        for log, made in attempts.items()
        if log not in ended and cell_key(made[-1]["cell"]) == cell_key(cell)
    ]


def _excused(runs: Sequence[Run]) -> Set[str]:
    """Return the logs of the repeats that were unavailable for a reason that excuses them."""
    return {
        str(run.get("log"))
        for run in runs
        if run.get("ending") == "unavailable" and run["cell"].get("excused")
    }


def _failures(
    cells: Sequence[Mapping[str, Any]], besides: Sequence[Mapping[str, Any]], excused: Set[str]
) -> List[Dict[str, Any]]:
    ended = [one for cell in cells for one in (*cell["failures"], *cell["unavailable"])]
    if any(ok_speeds(cell) for cell in cells):
        ended = [one for one in ended if one["log"] not in excused]
    ended += [one for other in besides for one in other["failures"]]
    return [{key: one[key] for key in ("log", "ending", "reason")} for one in ended]


def only_facts(results: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the facts as the originals wrote them: {model: {topology: {…}}}.

    A tree of one benchmark, precision and variant gives exactly that; a tree of several, which
    the originals mixed up, keeps the nesting.
    """
    facts: Dict[str, Any] = results["facts"]
    groups = [
        variants[variant]
        for precisions in facts.values()
        for variants in precisions.values()
        for variant in variants
    ]
    return groups[0] if len(groups) == 1 else facts
