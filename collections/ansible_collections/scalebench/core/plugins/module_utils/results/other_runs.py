"""Runs beside the measured repeats: searches for the largest batch, packed repeats run alone."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..records.cells import GROUP_KEYS, IDENTITY_KEYS, cell_key
from ..records.endings import ending_names, never_ran
from ..records.factors import MAX
from ..records.plans import Cell
from ..records.results import MeasuredCell, Repeat
from ..records.runs import RunRecord
from ..running import search
from ..stats.statistics import median
from .repeats import reason_of

__all__ = ["interference", "packing", "resolve_searches"]

_ALONE = "_alone.log"


def resolve_searches(
    cells: Sequence[Cell], runs: Sequence[RunRecord]
) -> Tuple[List[Cell], List[Dict[str, Any]]]:
    """Return the cells with the batch sizes that the searches gave, and the searches.

    A cell whose search has not found one keeps ``max``; its repeats are not run. A search has
    ``largest`` (samples per device, or None and the ``reason``), ``tried`` (in order, each with how
    it ended), ``failures`` (what kept it from an answer) and ``memory_mib``, the limit of a
    process where one was set.

    :param cells: the plan's.
    :param runs: the run records of kind ``search``.
    """
    resolved = [cell for cell in cells if cell["batch_size_per_device"] != MAX]
    searches = []
    for group in search.groups(cells):
        result = _search(group, runs)
        searches.append(result)
        largest = result["largest"]
        resolved += [search.concrete(cell, largest) if largest else cell for cell in group]
    return resolved, searches


def _search(group: Sequence[Cell], runs: Sequence[RunRecord]) -> Dict[str, Any]:
    own = [run for run in runs if search.belongs(run["cell"], group)]
    own.sort(key=lambda run: str(run.get("recorded")))
    endings = {run["cell"]["batch_size_per_device"]: run["ending"] for run in own}
    probe = search.next_probe(group, endings)
    largest, reason = None, ""
    if probe:
        batch = probe["cell"]["batch_size_per_device"]
        reason = f"the search for the largest batch has not ended: {batch} is next"
    else:
        try:
            largest = search.largest(endings)
        except ValueError as error:
            reason = str(error)
    failed = [run for run in own if run["ending"] not in ("ok", "out_of_memory")]
    if not probe and largest is None:
        failed = failed or own[-1:]
    return {
        **dict(zip(GROUP_KEYS, cell_key(group[0]))),
        "topologies": [cell["topology"] for cell in group],
        "tried_on": own[0]["cell"]["topology"] if own else None,
        "largest": largest,
        "reason": reason,
        "memory_mib": next((run["memory_mib"] for run in own if run.get("memory_mib")), None),
        "tried": [_probe(run) for run in own],
        "failures": [_probe(run) for run in failed],
    }


def _probe(run: RunRecord) -> Dict[str, Any]:
    return {
        "batch_size_per_device": run["cell"]["batch_size_per_device"],
        "log": run["log"],
        "ending": run["ending"],
        "reason": reason_of(run["ending"], run.get("reason")),
    }


def packing(packed: str, cells: Sequence[MeasuredCell]) -> Optional[Dict[str, Any]]:
    """Return how many repeats ran beside others, None where the campaign was not packed.

    :param packed: one of ``options.PACKINGS``.
    :returns: ``packing``, ``repeats`` (that ran), ``beside_others``, and ``on_one_machine``: those
        whose neighbours were on the same machine.
    """
    ran = [r for cell in cells for r in cell["repeats"] if not never_ran(r["ending"])]
    beside = [repeat for repeat in ran if repeat["packed_with"]]
    if packed == "none" and not beside:
        return None
    return {
        "packing": packed,
        "repeats": len(ran),
        "beside_others": len(beside),
        "on_one_machine": sum(repeat["shares_machine"] for repeat in beside),
    }


def interference(cells: Sequence[MeasuredCell], alone: Sequence[Repeat]) -> Dict[str, Any]:
    """Return speed beside others / speed alone, over the repeats that were run both ways.

    Below 1, the neighbours cost speed. A single pair contains the noise of two repeats as well.

    :param alone: repeats of kind ``alone`` (``repeats.repeat_of``).
    :returns: ``n`` pairs, their ``median``, by cell ``ratios`` and ``median``; ``reason`` where
        there is no pair; ``failures``, the repeats alone that did not end well.
    """
    speeds = {repeat["log"]: repeat["throughput"] for repeat in alone}
    by_cell: List[Dict[str, Any]] = []
    for cell in cells:
        ratios = [
            repeat["throughput"] / by_itself
            for repeat in cell["repeats"]
            if repeat["packed_with"] and repeat["throughput"]
            for by_itself in [speeds.get(f"{repeat['log'][: -len('.log')]}{_ALONE}")]
            if by_itself
        ]
        if ratios:
            by_cell.append(
                {
                    **{key: cell.get(key) for key in IDENTITY_KEYS},
                    "ratios": [round(ratio, 4) for ratio in ratios],
                    "median": round(median(ratios), 4),
                }
            )
    every = [ratio for cell_ratios in by_cell for ratio in cell_ratios["ratios"]]
    harmless = ending_names(fails=False)
    return {
        "n": len(every),
        "median": round(median(every), 4) if every else None,
        "cells": by_cell,
        "reason": "" if every else "nothing measured: no packed repeat was run again alone",
        "failures": [
            {"log": repeat["log"], "ending": repeat["ending"], "reason": repeat["reason"]}
            for repeat in alone
            if repeat["ending"] not in harmless
        ],
    }
