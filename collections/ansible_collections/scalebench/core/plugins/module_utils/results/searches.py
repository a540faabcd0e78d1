"""What the searches for the largest batch size found: the cells they give, what they tried."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ..running import search
from ..records.cells import GROUP_KEYS
from ..records.factors import MAX

__all__ = ["resolve"]

Cell = Mapping[str, Any]
Run = Mapping[str, Any]


def resolve(cells: Sequence[Cell], runs: Sequence[Run]) -> Tuple[List[Cell], List[Dict[str, Any]]]:
    """Return the cells with the batch sizes that were found, and the searches.

    A cell whose search has not found one keeps ``max``; its repeats are not run. A search has
    ``largest`` (images per device, or None and the ``reason``), ``tried`` (in order, each with how
    it ended), ``failures`` (what kept it from an answer) and ``memory_mib``, the limit of a
    process where one was set.

    :param cells: the plan's.
    :param runs: the run records of kind ``search``.
    """
    found = [cell for cell in cells if cell["batch_size_per_device"] != MAX]
    searches = []
    for group in search.groups(cells):
        made = _search(group, runs)
        searches.append(made)
        largest = made["largest"]
        found += [search.concrete(cell, largest) if largest else cell for cell in group]
    return found, searches


def _search(group: Sequence[Cell], runs: Sequence[Run]) -> Dict[str, Any]:
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
    spoiled = [run for run in own if run["ending"] not in ("ok", "out_of_memory")]
    if not probe and largest is None:
        spoiled = spoiled or own[-1:]
    return {
        **{key: group[0][key] for key in GROUP_KEYS},
        "topologies": [cell["topology"] for cell in group],
        "tried_on": own[0]["cell"]["topology"] if own else None,
        "largest": largest,
        "reason": reason,
        "memory_mib": next((run["memory_mib"] for run in own if run.get("memory_mib")), None),
        "tried": [_tried(run) for run in own],
        "failures": [_tried(run) for run in spoiled],
    }


def _tried(run: Run) -> Dict[str, Any]:
    return {
        "batch_size_per_device": run["cell"]["batch_size_per_device"],
        "log": run["log"],
        "ending": run["ending"],
        "reason": run.get("reason") or "",
    }
