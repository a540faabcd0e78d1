"""Pack repeats into waves: repeats that run at the same time, each on nodes of its own.

Ansible starts a wave's repeats together and the next wave when the last of them has ended, so a
wave lasts as long as its longest repeat. To pack such waves is to schedule a batch processing
machine with jobs of different sizes (a job's size is its number of nodes): NP-hard in general,
see Zhang, Cai, Lee and Wong, Naval Research Logistics 48 (2001) 226-240.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from .options import PACKINGS
from .plan import cell_key

__all__ = ["makespan", "waves"]

Repeats = Sequence[Mapping[str, Any]]
Devices = Mapping[str, int]
# How often a node has had a repeat of a cell.
Uses = Dict[Tuple[str, str], int]


def waves(repeats: Repeats, devices: Devices, packing: str) -> List[Dict[str, Any]]:
    """Return the waves, ``{"repeats": [{"index", "node_names"}], "seconds"}``, in running order.

    ``none`` gives each repeat a wave of its own, in the given order on its cell's nodes, as the
    seeds ran. ``nodes`` fills waves: longest repeats first, each into the first wave that can
    still seat it (longest processing time, first fit). On nodes with equal devices, and with node
    counts that are powers of two, no other waves take less time: a repeat that fits into none of
    the waves would not fit into all their free nodes together either, so each wave is opened only
    when it must be. With other counts it is a heuristic.

    :param repeats: what ``plan.repeats`` returned, each with ``seconds``, 0 where unknown; an
        ``index`` is a place in this list.
    :param devices: how many devices each node offers, in seating order.
    :param packing: one of ``options.PACKINGS``.
    :raises ValueError: there is no such packing, or a repeat that the nodes cannot seat.
    """
    if packing not in PACKINGS:
        raise ValueError(
            f"-e packing={packing}: there is no packing {packing!r}; the choices are"
            f" {', '.join(PACKINGS)}"
        )
    if packing == "none":
        return [
            _wave([(index, list(repeat["cell"]["node_names"]))], repeats)
            for index, repeat in enumerate(repeats)
        ]
    uses: Uses = {}
    return [
        _wave(_seat(members, repeats, devices, uses), repeats)
        for members in _fill(repeats, devices)
    ]


def makespan(planned: Sequence[Mapping[str, Any]]) -> float:
    """Return the seconds from the first wave's start to the last one's end.

    :param planned: what ``waves`` returned; the time that Ansible takes between waves is not in it.
    """
    return sum(float(wave["seconds"]) for wave in planned)


def _wave(seats: Sequence[Tuple[int, List[str]]], repeats: Repeats) -> Dict[str, Any]:
    return {
        "repeats": [{"index": index, "node_names": names} for index, names in seats],
        "seconds": max(repeats[index]["seconds"] for index, _ in seats),
    }


def _fill(repeats: Repeats, devices: Devices) -> List[List[int]]:
    """Return the indices of each wave's repeats, longest first."""
    filled: List[List[int]] = []
    for index in sorted(range(len(repeats)), key=lambda index: -repeats[index]["seconds"]):
        if not _can_share([index], repeats, devices):
            cell = repeats[index]["cell"]
            raise ValueError(
                f"{repeats[index]['log']} needs {cell['nodes']} node(s) with"
                f" {cell['devices_per_node']} device(s) each; there are"
                f" {', '.join(f'{name} with {count}' for name, count in devices.items())}"
            )
        wave = next((wave for wave in filled if _can_share([*wave, index], repeats, devices)), None)
        if wave is None:
            filled.append([index])
        else:
            wave.append(index)
    return filled


def _size(members: Sequence[int], repeats: Repeats) -> int:
    return sum(repeats[index]["cell"]["nodes"] for index in members)


def _can_share(members: Sequence[int], repeats: Repeats, devices: Devices) -> bool:
    """Return whether there are disjoint nodes for all members.

    Nodes with many devices can seat all that nodes with fewer can. So it is enough (Hall's
    theorem for nested sets) that for each number of devices asked for, the nodes that have as many
    are as many as the members that ask for it, or for more, need.
    """
    if _size(members, repeats) > len(devices):
        return False
    cells = [repeats[index]["cell"] for index in members]
    for asked in {cell["devices_per_node"] for cell in cells}:
        needed = sum(cell["nodes"] for cell in cells if cell["devices_per_node"] >= asked)
        if needed > sum(offered >= asked for offered in devices.values()):
            return False
    return True


def _seat(
    members: Sequence[int], repeats: Repeats, devices: Devices, uses: Uses
) -> List[Tuple[int, List[str]]]:
    """Return each member with its nodes; count them in ``uses``.

    Who asks for most devices chooses first. A repeat takes the nodes that its cell has had least
    often: a slow node then shows as a spread of the cell instead of as its speed.
    """
    free = list(devices)
    seats = []
    for index in sorted(members, key=lambda index: -repeats[index]["cell"]["devices_per_node"]):
        cell = repeats[index]["cell"]
        key = cell_key(cell)
        able = [name for name in free if devices[name] >= cell["devices_per_node"]]
        chosen = sorted(able, key=lambda name: uses.get((key, name), 0))[: cell["nodes"]]
        seats.append((index, [name for name in devices if name in chosen]))
        free = [name for name in free if name not in chosen]
        for name in chosen:
            uses[key, name] = uses.get((key, name), 0) + 1
    return seats
