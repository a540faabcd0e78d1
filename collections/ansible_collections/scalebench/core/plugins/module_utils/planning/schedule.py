"""Pack repeats into waves: repeats that run at the same time, each on nodes of its own.

Ansible starts a wave's repeats together and the next wave when the last of them has ended, so a
wave lasts as long as its longest repeat. To pack such waves is to schedule a batch processing
machine with jobs of different sizes (a job's size is its number of nodes): NP-hard in general,
see Zhang, Cai, Lee and Wong, Naval Research Logistics 48 (2001) 226-240.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ..records.cells import cell_path
from .options import PACKINGS

__all__ = ["makespan", "waves"]

Repeats = Sequence[Mapping[str, Any]]
Devices = Mapping[str, Sequence[str]]
# Of one repeat: by node, the places of its devices among those of the node.
Seat = Dict[str, List[int]]
# How often a node has had a repeat of a cell.
Uses = Dict[Tuple[str, str], int]


def waves(repeats: Repeats, devices: Devices, packing: str) -> List[Dict[str, Any]]:
    """Return the waves, ``{"repeats": [{"index", "node_names", "devices"}], "seconds"}``, in order.

    ``none`` gives each repeat a wave of its own, in the given order on its cell's nodes, as the
    seeds ran. ``nodes`` and ``devices`` fill waves: longest repeats first, each into the first wave
    that can still seat it (longest processing time, first fit); a node then works for one repeat at
    a time, or for as many as it has devices for. With ``nodes``, on nodes with equal devices and
    with node counts that are powers of two, no other waves take less time: a repeat that fits into
    none of the waves would not fit into all their free nodes together either, so each wave is
    opened only when it must be. In other cases it is a heuristic.

    :param repeats: what ``plan.repeats`` returned, each with ``seconds``, 0 where unknown; an
        ``index`` is a place in this list.
    :param devices: the devices of each node by ``seating.device_ids``, nodes in seating order.
    :param packing: one of ``options.PACKINGS``.
    :returns: ``devices`` of a seat are, by node, the places of its devices among the node's; None
        where each node is the repeat's alone as planned.
    :raises ValueError: there is no such packing, or a repeat that the nodes cannot seat.
    """
    if packing not in PACKINGS:
        raise ValueError(
            f"-e packing={packing}: there is no packing {packing!r}; the choices are"
            f" {', '.join(PACKINGS)}"
        )
    if packing == "none":
        return [
            _wave([(index, list(repeat["cell"]["node_names"]), None)], repeats)
            for index, repeat in enumerate(repeats)
        ]
    whole = packing == "nodes"
    uses: Uses = {}
    made = []
    for members in _fill(repeats, devices, whole):
        seats = _seat(members, repeats, devices, whole, uses)
        # To spread a cell over the nodes comes second to running beside the others.
        seats = seats or _seat(members, repeats, devices, whole, {}) or {}
        for index, seat in seats.items():
            for name in seat:
                key = cell_path(repeats[index]["cell"]), name
                uses[key] = uses.get(key, 0) + 1
        made.append(
            _wave([(i, [n for n in devices if n in s], s) for i, s in seats.items()], repeats)
        )
    return made


def makespan(planned: Sequence[Mapping[str, Any]]) -> float:
    """Return the seconds from the first wave's start to the last one's end.

    :param planned: what ``waves`` returned; the time that Ansible takes between waves is not in it.
    """
    return sum(float(wave["seconds"]) for wave in planned)


def _wave(
    seats: Sequence[Tuple[int, List[str], Optional[Seat]]], repeats: Repeats
) -> Dict[str, Any]:
    return {
        "repeats": [
            {"index": index, "node_names": names, "devices": seat} for index, names, seat in seats
        ],
        "seconds": max(repeats[index]["seconds"] for index, _, _ in seats),
    }


def _fill(repeats: Repeats, devices: Devices, whole: bool) -> List[List[int]]:
    """Return the indices of each wave's repeats, longest first."""
    filled: List[List[int]] = []
    # What a wave can hold at most, by the simplest measure, to ask seldom for more.
    room = len(devices) if whole else len({one for ids in devices.values() for one in ids})
    left: List[int] = []
    for index in sorted(range(len(repeats)), key=lambda index: -repeats[index]["seconds"]):
        cell = repeats[index]["cell"]
        size = cell["nodes"] * (1 if whole else cell["devices_per_node"])
        for number, wave in enumerate(filled):
            if size <= left[number] and _seat([*wave, index], repeats, devices, whole, {}):
                wave.append(index)
                left[number] -= size
                break
        else:
            if not _seat([index], repeats, devices, whole, {}):
                raise ValueError(_too_large(repeats[index], devices))
            filled.append([index])
            left.append(room - size)
    return filled


def _too_large(repeat: Mapping[str, Any], devices: Devices) -> str:
    cell = repeat["cell"]
    return (
        f"{repeat['log']} needs {cell['nodes']} node(s) with {cell['devices_per_node']} device(s)"
        f" each; there are {', '.join(f'{name} with {len(ids)}' for name, ids in devices.items())}"
    )


def _seat(
    members: Sequence[int], repeats: Repeats, devices: Devices, whole: bool, uses: Uses
) -> Optional[Dict[int, Seat]]:
    """Return the seat of each member, None where not all of them can run at the same time.

    Who asks for most devices chooses first, and of equals who asks for most nodes. A repeat takes
    the nodes with most devices left, of equals those that its cell has had least often: a slow
    node then shows as a spread of the cell instead of as its speed. With whole nodes only the
    latter counts: nodes with many devices can seat all that nodes with fewer can, so that nobody
    who chooses later can do with less (Hall's theorem for nested sets).

    :param whole: a node is one repeat's, however many devices it takes.
    """

    def asks(index: int) -> Tuple[int, int]:
        return -repeats[index]["cell"]["devices_per_node"], -repeats[index]["cell"]["nodes"]

    taken: Set[str] = set()
    busy: Set[str] = set()
    seats: Dict[int, Seat] = {}
    for index in sorted(members, key=asks):
        cell = repeats[index]["cell"]
        key = cell_path(cell)
        free = {
            name: [place for place, one in enumerate(ids) if one not in taken]
            for name, ids in devices.items()
            if name not in busy
        }
        able = [name for name, places in free.items() if len(places) >= cell["devices_per_node"]]
        able.sort(key=lambda name: (0 if whole else -len(free[name]), uses.get((key, name), 0)))
        seat: Seat = {}
        for name in able:
            # Nodes that are one machine have the same GPUs.
            places = [place for place in free[name] if devices[name][place] not in taken]
            if len(seat) < cell["nodes"] and len(places) >= cell["devices_per_node"]:
                seat[name] = places[: cell["devices_per_node"]]
                taken.update(devices[name][place] for place in seat[name])
        if len(seat) < cell["nodes"]:
            return None
        busy.update(seat if whole else ())
        seats[index] = seat
    return seats
