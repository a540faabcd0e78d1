"""Floors of bus bandwidth by fabric and message size, and the one that a cell must keep."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..records.results import MeasuredCell

__all__ = ["checked_floors", "floor_of", "floors_text", "has_floor"]

# By glob of the fabric MB/s by the size in bytes from which on they hold, a text as JSON has it.
Floors = Mapping[str, Mapping[str, float]]
# What NCCL calls the ways between nodes; the others are within one.
_BETWEEN_NODES = ("NET/", "COLLNET")
_FORM = "a table of floors in MB/s, as {NET/IB*: {1048576: 2000, 1073741824: 20000}, gloo: 100}"


def checked_floors(name: str, value: Any) -> Dict[str, Dict[str, float]]:
    """Return the table of a rule; a fabric with a bare number has it for every size.

    :param name: of the rule, for the error.
    :raises ValueError: what is wrong, with the fabric.
    """
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{name}: {value!r} is not {_FORM}")
    table = {}
    for fabric, floors in value.items():
        if not isinstance(fabric, str) or not fabric:
            raise ValueError(f"{name}: {fabric!r} is not the name of a fabric: {_FORM}")
        sizes = floors if isinstance(floors, Mapping) else {1: floors}
        if not sizes:
            raise ValueError(f"{name}: {fabric}: no floor: {_FORM}")
        table[fabric] = dict(_floor(f"{name}: {fabric}", *one) for one in sizes.items())
    return table


def _floor(where: str, size: Any, floor: Any) -> Tuple[str, float]:
    if isinstance(size, bool) or not str(size).isdecimal():
        raise ValueError(f"{where}: {size!r} is not a size in bytes, e.g. 1048576 for 1 MiB")
    number = isinstance(floor, (int, float)) and not isinstance(floor, bool)
    if not number or not 0 < floor < float("inf"):
        raise ValueError(f"{where}: {floor!r} is not a number of MB/s above 0")
    return str(int(size)), floor


def floors_text(floors: Floors) -> str:
    """Return a table in words: ``NET/IB*: 2000 MB/s from 1048576 bytes``."""
    return "; ".join(
        f"{fabric}: " + ", ".join(f"{floor:g} MB/s from {size} bytes" for size, floor in of.items())
        for fabric, of in floors.items()
    )


def has_floor(cell: Mapping[str, object], floors: Floors) -> bool:
    """Return whether a planned or measured cell moves messages of a size that has a floor."""
    own = _size(cell)
    return own is not None and any(own >= int(size) for of in floors.values() for size in of)


def _size(cell: Mapping[str, object]) -> Optional[int]:
    own = cell.get("own_factors")
    size = own.get("message_bytes") if isinstance(own, Mapping) else None
    return size if isinstance(size, int) else None


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
