"""What a rule of a gate and a line of an acceptance may limit: ranges, floors by fabric, cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..records.cells import IDENTITY_KEYS
from ..records.factors import WEAK, missing_value
from ..records.results import MeasuredCell

__all__ = [
    "Limit",
    "checked_day",
    "checked_value",
    "checked_where",
    "floor_of",
    "is_number",
    "selected",
    "selector_text",
    "value_text",
]

# What a rule may select cells by.
_SELECTORS = (*IDENTITY_KEYS, "scaling")
# A limit of scaling holds for the weak one, whose ideal is another, unless the rule says otherwise.
_USUALLY: Mapping[str, Mapping[str, str]] = {
    "min_efficiency": {"scaling": WEAK},
    "min_speedup": {"scaling": WEAK},
}
# By glob of the fabric MB/s by the size in bytes from which on they hold, a text as JSON has it.
Floors = Mapping[str, Mapping[str, float]]
# What NCCL calls the ways between nodes; the others are within one.
_BETWEEN_NODES = ("NET/", "COLLNET")
_FORM = "a table of floors in MB/s, as {NET/IB*: {1048576: 2000, 1073741824: 20000}, gloo: 100}"


@dataclass(frozen=True)
class Limit:
    """What a value means (``about``) and may be: below ``below`` (at most, ``closed``).

    ``above``: it is above 0, else 0 or more; ``whole``: a whole number; ``by_fabric``: a table of
    floors of bus bandwidth instead of a number.
    """

    about: str
    below: float = math.inf
    closed: bool = False
    above: bool = False
    whole: bool = False
    by_fabric: bool = False


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value)


def checked_value(name: str, of: Limit, value: Any) -> Any:
    """Return the value of a rule.

    :param name: of the rule, for the error.
    :raises ValueError: it is out of range.
    """
    if of.by_fabric:
        return _checked_floors(name, value)
    if not is_number(value) or value < 0:
        raise ValueError(f"{name}: {value!r:.80} is not a number of 0 or more: {of.about}")
    if value > of.below or (value == of.below and not of.closed):
        raise ValueError(f"{name}: {value!r:.80} is not a share: {of.about}")
    if of.above and value == 0:
        raise ValueError(f"{name}: {value!r:.80} is not above 0: {of.about}")
    if of.whole and int(value) != value:
        raise ValueError(f"{name}: {value!r:.80} is not a whole number")
    return value


def _checked_floors(name: str, value: Any) -> Dict[str, Dict[str, float]]:
    """Return the table of a rule; a fabric with a bare number has it for every size.

    :param name: of the rule, for the error.
    :raises ValueError: what is wrong, with the fabric.
    """
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{name}: {value!r:.80} is not {_FORM}")
    table = {}
    for fabric, floors in value.items():
        if not isinstance(fabric, str) or not fabric:
            raise ValueError(f"{name}: {fabric!r:.80} is not the name of a fabric: {_FORM}")
        sizes = floors if isinstance(floors, Mapping) else {1: floors}
        if not sizes:
            raise ValueError(f"{name}: {fabric}: no floor: {_FORM}")
        table[fabric] = dict(_floor(f"{name}: {fabric}", *one) for one in sizes.items())
    return table


def _floor(where: str, size: Any, floor: Any) -> Tuple[str, float]:
    if isinstance(size, bool) or not str(size).isdecimal():
        raise ValueError(f"{where}: {size!r:.80} is not a size in bytes, e.g. 1048576 for 1 MiB")
    if not is_number(floor) or floor <= 0:
        raise ValueError(f"{where}: {floor!r:.80} is not a number of MB/s above 0")
    return str(int(size)), floor


def value_text(value: Any) -> str:
    """Return the value of a rule in words."""
    return _floors_text(value) if isinstance(value, Mapping) else f"{value:g}"


def _floors_text(floors: Floors) -> str:
    """Return a table in words: ``NET/IB*: 2000 MB/s from 1048576 bytes``."""
    return "; ".join(
        f"{fabric}: " + ", ".join(f"{floor:g} MB/s from {size} bytes" for size, floor in of.items())
        for fabric, of in floors.items()
    )


def checked_day(value: Any) -> float:
    """Return the standard deviation of days that a rule states, as a share.

    :raises ValueError: it is no share.
    """
    if not is_number(value) or not 0 <= value < 1:
        raise ValueError(f"day_sd: {value!r:.80} is not a share below 1, e.g. 0.001 for 0.1 %")
    return float(value)


def checked_where(where: Any) -> Dict[str, str]:
    """Return the globs by which a rule selects cells.

    :raises ValueError: not a mapping from names of _SELECTORS to globs.
    """
    if not isinstance(where, Mapping):
        raise ValueError(
            f"where: {where!r:.80} is not a mapping; its keys are {', '.join(_SELECTORS)}"
        )
    for name, glob in where.items():
        if name not in _SELECTORS:
            raise ValueError(
                f"where: there is no {name!r:.80}; the choices are {', '.join(_SELECTORS)}"
            )
        if not isinstance(glob, str) or not glob:
            raise ValueError(f"where: {name}: {glob!r:.80} is not a text, as '4n*' or amp")
    return dict(where)


def selected(cells: Sequence[Mapping[str, Any]], rule: Mapping[str, Any]) -> List[Any]:
    """Return the cells, planned or measured, that a rule or a line holds for.

    Floors of bus bandwidth hold for messages of the sizes that they name alone.
    """
    where = {**_USUALLY.get(rule["metric"], {}), **rule["where"]}
    floors = rule.get("value")
    return [
        cell
        for cell in cells
        if (not isinstance(floors, Mapping) or _has_floor(cell, floors))
        and all(
            fnmatchcase(str(cell.get(name) or missing_value(name)), glob)
            for name, glob in where.items()
        )
    ]


def _has_floor(cell: Mapping[str, object], floors: Floors) -> bool:
    """Return whether a planned or measured cell moves messages of a size that has a floor."""
    own = _size(cell)
    return own is not None and any(own >= int(size) for of in floors.values() for size in of)


def _size(cell: Mapping[str, object]) -> Optional[int]:
    own = cell.get("own_factors")
    size = own.get("message_bytes") if isinstance(own, Mapping) else None
    return size if isinstance(size, int) else None


def selector_text(rule: Mapping[str, Any]) -> str:
    """Return the cells that a rule holds for, ``model r50, topology 4n*``; empty for all."""
    return ", ".join(f"{name} {glob}" for name, glob in rule["where"].items())


def floor_of(cell: MeasuredCell, floors: Floors) -> Tuple[float, str]:
    """Return the floor of a cell in MB/s, and in words which it is.

    The first fabric of the table that one of the cell's ways matches counts, so that a repeat that
    partly took a slower way must keep the floor of the faster one. Of a fabric the largest size
    counts that is not above the cell's.

    :raises ValueError: the table has none for it: no fabric that matches, or no size so small.
    """
    ways, size = _fabrics(cell), _size(cell) or 0
    matching = (glob for glob in floors if any(fnmatchcase(way, glob) for way in ways))
    glob = next(matching, None)
    if glob is None:
        took = ", ".join(ways) or "an unknown fabric"
        raise ValueError(f"it went over {took}, and there are floors for {', '.join(floors)}")
    reached = [int(one) for one in floors[glob] if int(one) <= size]
    if not reached:
        raise ValueError(f"{glob} has no floor for {size} bytes")
    floor = floors[glob][str(max(reached))]
    return floor, f"floor {floor:g} MB/s over {', '.join(ways)}"


def _fabrics(cell: MeasuredCell) -> List[str]:
    """Return what connected the ranks: as NCCL tells it, else the library, as gloo.

    Of several nodes only what connected these: the slowest part of a ring.
    """
    good = [repeat for repeat in cell["repeats"] if repeat["throughput"] is not None]
    told = {way for repeat in good for way in repeat["transport"]}
    apart = {way for way in told if way.startswith(_BETWEEN_NODES)}
    ways = apart if cell["nodes"] > 1 else told - apart
    libraries = {repeat["message"].get("backend") for repeat in good if "message" in repeat}
    return sorted(ways or filter(None, libraries))
