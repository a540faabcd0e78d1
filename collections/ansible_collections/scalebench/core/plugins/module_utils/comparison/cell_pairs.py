"""Which cells of two campaigns can be compared, and why the others cannot."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ..records.cells import IDENTITY_KEYS, cell_key
from ..records.factors import MAX, factor_values
from ..records.results import MeasuredCell
from ..results.cells import ok_speeds

__all__ = ["cell_pairs", "check_common", "named"]


def named(cell: Mapping[str, Any]) -> Dict[str, Any]:
    """Return what names a cell, by its keys."""
    return {name: cell.get(name) for name in IDENTITY_KEYS}


def check_common(ours: Sequence[Mapping[str, Any]], baseline: Sequence[MeasuredCell]) -> None:
    """Refuse a baseline without a common cell.

    :param ours: cells of a plan or of results; ``baseline`` of results.
    :raises ValueError: no cell is in both.
    """
    # The batch size of a search may turn out to be the baseline's.
    if any(cell["batch_size_per_device"] == MAX for cell in ours):
        return
    if not {cell_key(cell) for cell in ours} & {cell_key(cell) for cell in baseline}:
        raise ValueError(
            f"no cell is in both: here {_listed(ours)}; in the baseline {_listed(baseline)}"
        )


def cell_pairs(
    ours: Sequence[MeasuredCell], baseline: Sequence[MeasuredCell]
) -> Tuple[List[Tuple[MeasuredCell, MeasuredCell, List[str]]], List[Dict[str, Any]]]:
    """Return the pairs of cells to compare, and the others: their names and the ``reason``.

    Each pair has the conditions that only one side records: they may differ.

    :param ours: cells of results, and ``baseline`` likewise.
    :raises ValueError: no cell is in both.
    """
    theirs = {cell_key(cell): cell for cell in baseline}
    known = {cell_key(cell) for cell in ours}
    check_common(ours, baseline)
    pairs, apart = [], []
    for cell in ours:
        other = theirs.get(cell_key(cell))
        reason = "not in the baseline" if other is None else _apart(cell, other)
        if other is None or reason:
            apart.append({**named(cell), "reason": reason})
        else:
            pairs.append((cell, other, _unrecorded(cell, other)))
    apart += [
        {**named(cell), "reason": "only in the baseline"}
        for key, cell in theirs.items()
        if key not in known
    ]
    return pairs, apart


def _listed(cells: Sequence[Mapping[str, Any]]) -> str:
    shown = [" ".join(str(name) for name in named(cell).values()) for cell in cells[:3]]
    return ", ".join(shown) + (", …" if len(cells) > 3 else "") or "none"


def _apart(cell: MeasuredCell, other: MeasuredCell) -> str:
    """Return why two cells of one name cannot be compared; empty if they can."""
    without = [
        f"no repeat gave a speed {place}"
        for place, side in (("here", cell), ("in the baseline", other))
        if not ok_speeds(side)
    ]
    differing = [
        f"{name} {theirs} in the baseline, {ours} here"
        for name, ours, theirs in _conditions(cell, other)
        if None not in (ours, theirs) and ours != theirs
    ]
    return "; ".join(differing + without)


def _unrecorded(cell: MeasuredCell, other: MeasuredCell) -> List[str]:
    return [
        name
        for name, ours, theirs in _conditions(cell, other)
        if (ours is None) != (theirs is None)
    ]


def _conditions(cell: MeasuredCell, other: MeasuredCell) -> List[Tuple[str, Any, Any]]:
    """Return the conditions that decide how fast a cell is, with their values on both sides.

    These are the program and its decisive factors, the device, the method and the unit.
    """
    names = ("recipe", "framework", "device", "warmup", "iterations", "unit")
    ours, theirs = (
        {
            **factor_values(side, lambda factor: factor.decisive),
            **{name: side.get(name) for name in names},
        }
        for side in (cell, other)
    )
    return [(name, ours.get(name), theirs.get(name)) for name in {**ours, **theirs}]
