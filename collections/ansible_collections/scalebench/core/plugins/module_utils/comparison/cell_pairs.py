"""Which cells of two campaigns can be compared, and why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ..records.cells import IDENTITY_KEYS, cell_key
from ..records.factors import MAX, factor_values
from ..records.plans import Cell
from ..records.results import MeasuredCell, Results
from ..results.cells import ok_speeds

__all__ = [
    "Matched",
    "cell_conditions",
    "cell_pairs",
    "check_common",
    "differing",
    "named",
    "same_cells",
]

# What decides how fast a cell is, beside its decisive factors.
_DECISIVE = ("recipe", "framework", "device", "warmup", "iterations", "unit")


def named(cell: Mapping[str, Any]) -> Dict[str, Any]:
    """Return what names a cell, by its keys."""
    return {name: cell.get(name) for name in IDENTITY_KEYS}


def check_common(
    ours: Sequence[Mapping[str, Any]], baseline: Sequence[MeasuredCell], campaign: str = ""
) -> None:
    """Refuse a baseline without a common cell.

    :param ours: cells of a plan or of results; ``baseline`` of results.
    :param campaign: which of several baselines it is; empty for the only one.
    :raises ValueError: no cell is in both.
    """
    # The batch size of a search may turn out to be the baseline's.
    if any(cell["batch_size_per_device"] == MAX for cell in ours):
        return
    if not {cell_key(cell) for cell in ours} & {cell_key(cell) for cell in baseline}:
        where = f"in campaign {campaign} of the baseline" if campaign else "in the baseline"
        raise ValueError(f"no cell is in both: here {_listed(ours)}; {where} {_listed(baseline)}")


@dataclass
class Matched:
    """A cell, and the same cell of each campaign of the baseline that measured it alike.

    ``places`` are the numbers of these campaigns. ``unrecorded`` are the conditions that only one
    side records: they may differ. ``left_out`` has the ``campaign`` and the ``reason`` of the
    others.
    """

    cell: MeasuredCell
    others: List[MeasuredCell]
    places: List[int]
    unrecorded: List[str]
    left_out: List[Dict[str, Any]]


def cell_pairs(
    ours: Sequence[MeasuredCell], baselines: Sequence[Results]
) -> Tuple[List[Matched], List[Dict[str, Any]]]:
    """Return the cells to compare, and those without a counterpart: names and the ``reason``.

    :param ours: cells of results.
    :param baselines: results of each campaign of the baseline.
    :raises ValueError: no cell of ours is in one of the campaigns.
    """
    theirs = [{cell_key(cell): cell for cell in one["cells"]} for one in baselines]
    for one in baselines:
        check_common(ours, one["cells"], str(one["campaign"]) if len(baselines) > 1 else "")
    compared, apart = [], []
    for cell in ours:
        found = _matched(cell, [cells.get(cell_key(cell)) for cells in theirs], baselines)
        if found.others:
            compared.append(found)
        else:
            apart.append({**named(cell), "reason": _reasons(found.left_out)})
    known = {cell_key(cell) for cell in ours}
    missing = {key: cell for cells in theirs for key, cell in cells.items() if key not in known}
    apart += [{**named(cell), "reason": "only in the baseline"} for cell in missing.values()]
    return compared, apart


def same_cells(cell: MeasuredCell, campaigns: Sequence[Results]) -> Matched:
    """Return the same cell of each campaign that measured it alike.

    :param cell: measured, or of a plan: what is not known before it ran is no difference.
    """
    cells = [{cell_key(one): one for one in of["cells"]}.get(cell_key(cell)) for of in campaigns]
    return _matched(cell, cells, campaigns)


def _matched(
    cell: MeasuredCell, others: Sequence[Optional[MeasuredCell]], baselines: Sequence[Results]
) -> Matched:
    found = Matched(cell, [], [], [], [])
    for place, (other, of) in enumerate(zip(others, baselines)):
        reason = "not in the baseline" if other is None else _apart(cell, other)
        if other is None or reason:
            found.left_out.append({"campaign": of["campaign"], "reason": reason})
        else:
            found.others.append(other)
            found.places.append(place)
            found.unrecorded += _unrecorded(cell, other)
    found.unrecorded = list(dict.fromkeys(found.unrecorded))
    return found


def _reasons(left_out: Sequence[Mapping[str, Any]]) -> str:
    """Return each reason once, with the campaigns that it holds for where they differ."""
    campaigns: Dict[str, List[str]] = {}
    for one in left_out:
        campaigns.setdefault(one["reason"], []).append(str(one["campaign"]))
    if len(campaigns) == 1:
        return next(iter(campaigns))
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in campaigns.items())


def _listed(cells: Sequence[Mapping[str, Any]]) -> str:
    shown = [" ".join(str(name) for name in named(cell).values()) for cell in cells[:3]]
    return ", ".join(shown) + (", …" if len(cells) > 3 else "") or "none"


def _apart(cell: MeasuredCell, other: MeasuredCell) -> str:
    """Return why two cells of one name cannot be compared; empty if they can."""
    without = [
        f"no repeat gave a speed {place}"
        for place, side in (("here", cell), ("in the baseline", other))
        # A planned cell has no state yet.
        if "state" in side and not ok_speeds(side)
    ]
    apart = [
        f"{name} {theirs} in the baseline, {ours} here"
        for name, ours, theirs in differing(cell_conditions(cell), cell_conditions(other))
    ]
    return "; ".join(apart + without)


def cell_conditions(cell: Union[Cell, MeasuredCell]) -> Dict[str, Any]:
    """Return what decides how fast a planned or measured cell is, None where that is not known.

    These are the program and its decisive factors, the device, the method and the unit.
    """
    factors = factor_values(cell, lambda factor: factor.decisive)
    return {**factors, **{name: cell.get(name) for name in _DECISIVE}}


def differing(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> List[Tuple[str, Any, Any]]:
    """Return the conditions that make another cell of one with the same key, with both values.

    What one side does not know is none of them. Such is a factor that its benchmark got later: the
    key names what is not as usual, so that both have the usual value.
    """
    return [
        (name, value, theirs[name])
        for name, value in ours.items()
        if None not in (value, theirs.get(name)) and value != theirs[name]
    ]


def _unrecorded(cell: MeasuredCell, other: MeasuredCell) -> List[str]:
    ours, theirs = cell_conditions(cell), cell_conditions(other)
    names = {**ours, **theirs}
    return [name for name in names if (ours.get(name) is None) != (theirs.get(name) is None)]
