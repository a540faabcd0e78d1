"""Whether the cells of a campaign that ran for hours became slower or faster."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from ..records.cells import cell_key
from ..records.results import MeasuredCell
from ..running.elapsed import ended_at
from ..stats.drift import LEAST, LEVEL, Drift, drift
from ..stats.log_ratio import holm
from .cells import deciding_speeds

__all__ = ["drift_of_cell", "drifts"]


def drifts(cells: Sequence[MeasuredCell]) -> Dict[str, Any]:
    """Return ``level`` and of each cell what :mod:`..stats.drift` finds.

    :returns: ``cells``, each with its label, ``n``, ``change``, ``low``, ``high`` (shares from the
        first repeat to the last; None where there are too few repeats) and ``drifts``. Without a
        drift anywhere one campaign in a hundred has a cell that is said to drift (Holm).
    """
    found = [drift_of_cell(cell) for cell in cells]
    p_values = iter(holm([one.p_value for one in found if one]))
    rows: List[Dict[str, Any]] = []
    for cell, one in zip(cells, found):
        row = {"cell": cell_key(cell).short, "n": len(cell["repeats"])}
        if one:
            figures = {key: round(getattr(one, key), 6) for key in ("change", "low", "high")}
            shown = next(p_values) <= 1 - LEVEL
            rows.append({**row, "n": one.n, **figures, "drifts": shown})
        else:
            rows.append({**row, "change": None, "low": None, "high": None, "drifts": None})
    return {"level": LEVEL, "least": LEAST, "cells": rows}


def drift_of_cell(cell: MeasuredCell, level: float = LEVEL) -> Optional[Drift]:
    """Return the drift of a cell, None with too few repeats or where one has no time.

    :param level: of its interval.
    """
    (speeds,) = deciding_speeds(cell)
    good = [repeat for repeat in cell["repeats"] if repeat["throughput"] is not None]
    times = [at for at in map(ended_at, good) if at is not None]
    return drift(times, speeds, level) if len(times) == len(speeds) else None
