"""Whether a campaign is the one that an acceptance states, and which of its repeats are missing."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence

from ..planning.options import duration_seconds
from ..planning.recipes import ALL
from ..records.cells import cell_key
from ..records.endings import says_nothing
from ..records.factors import missing_value
from ..records.results import MeasuredCell

__all__ = ["NOT_HERE", "gaps", "unlike"]

# What an acceptance may not set, nor its campaign have: the repeats would end by what they measure.
NOT_HERE = ("half_width", "max_repeats", "bisect")
# The lists of which every value must have a cell; other factors are not those of every recipe.
_IN_CELLS = (
    *("benchmark", "topology", "precision", "batch_size_per_device"),
    *("scaling", "global_batch_size"),
)


def unlike(
    promised: Mapping[str, Any], options: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]
) -> List[str]:
    """Return a sentence for each option that a campaign has otherwise than stated.

    :param promised: ``campaign`` of a checked acceptance.
    :param options: of plan.json.
    :param cells: planned, or measured.
    """
    said = []
    for name, value in promised.items():
        if name not in options:
            said.append(f"{name}: {_text(value)} is stated, the plan has none")
        elif not _kept(name, value, options[name]):
            said.append(f"{name}: {_text(value)} is stated, the plan has {_text(options[name])}")
    said += [f"{name}: the plan has it" for name in NOT_HERE if options.get(name)]
    for name in _IN_CELLS:
        there = {str(cell.get(name) or missing_value(name)) for cell in cells}
        # 4n*g, a searched batch size and all benchmarks stand for values that are not known here.
        wanted = [one for one in _texts(promised.get(name, ())) if "*" not in one]
        wanted = [one for one in wanted if one not in ("max", *ALL)]
        said += [f"{name}: no cell has {one}" for one in wanted if one not in there]
    least = promised.get("repeats", 0)
    for cell in cells:
        planned = cell.get("repeats_planned", cell.get("repeats"))
        if isinstance(planned, int) and planned < least:
            said.append(f"repeats: {least} are stated, {cell_key(cell).short} has {planned}")
    return said


def _kept(name: str, stated: Any, planned: Any) -> bool:
    if name == "duration":
        return duration_seconds(planned) >= duration_seconds(stated)
    return _texts(stated) == _texts(planned)


def _texts(value: Any) -> List[str]:
    values = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return [str(one).strip() for one in values]


def _text(value: Any) -> str:
    return ",".join(_texts(value))


def gaps(cell: MeasuredCell) -> str:
    """Return which planned repeats of a cell, or attempts at them, tell nothing; empty if none.

    A failed repeat tells something: it is a fault.
    """
    repeats = cell["repeats"]
    # Without a fixed number (-e duration) the highest number is the least that ran.
    numbers = {*range(1, max((one["repeat"] for one in repeats), default=0) + 1)}
    absent = {*cell["not_run"], *(numbers - {one["repeat"] for one in repeats})}
    said = [f"repeat {number} did not run" for number in sorted(absent)]
    said += [
        f"repeat {one['repeat']} is {one['ending']}"
        for one in repeats
        if says_nothing(one["ending"])
    ]
    said += [
        f"of repeat {one['repeat']} attempts are missing"
        for one in repeats
        if len(one["earlier"]) < one["attempt"] - 1
    ]
    return ", ".join(said)
