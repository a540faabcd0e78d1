"""What running beside others costs: repeats that were packed, against the same ones run alone."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..records.cells import GROUP_KEYS, cell_key
from .repeats import NEVER_RAN
from ..stats.statistics import median

__all__ = ["interference", "packing"]

_ALONE = "_alone.log"


def packing(packed: str, cells: Sequence[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    """Return how many repeats ran beside others, None where the campaign was not packed.

    :param packed: one of ``options.PACKINGS``.
    :param cells: measured (``cells.measure_cell``).
    :returns: ``packing``, ``repeats`` (that ran), ``beside_others``, and ``on_one_machine``: those
        whose neighbours were on the same machine.
    """
    ran = [r for cell in cells for r in cell["repeats"] if r["ending"] not in NEVER_RAN]
    beside = [repeat for repeat in ran if repeat["packed_with"]]
    if packed == "none" and not beside:
        return None
    return {
        "packing": packed,
        "repeats": len(ran),
        "beside_others": len(beside),
        "on_one_machine": sum(repeat["shares_machine"] for repeat in beside),
    }


def interference(
    cells: Sequence[Mapping[str, Any]], alone: Sequence[Mapping[str, Any]]
) -> Dict[str, Any]:
    """Return speed beside others / speed alone, over the repeats that were run both ways.

    Below 1, the neighbours cost speed. A single pair holds the noise of two repeats besides.

    :param cells: measured (``cells.measure_cell``).
    :param alone: repeats of kind ``alone`` (``repeats.repeat_of``).
    :returns: ``n`` pairs, their ``median``, by cell ``ratios`` and ``median``; ``reason`` where
        there is no pair; ``failures``, the repeats alone that did not end well.
    """
    speeds = {repeat["log"]: repeat["throughput"] for repeat in alone}
    found: List[Dict[str, Any]] = []
    for cell in cells:
        ratios = [
            repeat["throughput"] / by_itself
            for repeat in cell["repeats"]
            if repeat["packed_with"] and repeat["throughput"]
            for by_itself in [speeds.get(f"{repeat['log'][: -len('.log')]}{_ALONE}")]
            if by_itself
        ]
        if ratios:
            known = dict(zip(GROUP_KEYS, cell_key(cell)))
            known["topology"] = cell["topology"]
            shown = [round(ratio, 4) for ratio in ratios]
            found.append({**known, "ratios": shown, "median": round(median(ratios), 4)})
    every = [ratio for cell in found for ratio in cell["ratios"]]
    return {
        "n": len(every),
        "median": round(median(every), 4) if every else None,
        "cells": found,
        "reason": "" if every else "nothing measured: no packed repeat was run again alone",
        "failures": [
            {key: repeat[key] for key in ("log", "ending", "reason")}
            for repeat in alone
            if repeat["ending"] not in ("ok", "skipped")
        ],
    }
