"""Pack repeats into waves, repeats that run at the same time; bounds on the time they take.

Ansible starts a wave's repeats together and the next wave when the last of them has ended, so a
wave lasts as long as its longest repeat. To pack such waves is to schedule a batch processing
machine with jobs of different sizes (a job's size is its number of nodes): NP-hard in general,
see Zhang, Cai, Lee and Wong, Naval Research Logistics 48 (2001) 226-240.
"""

from __future__ import annotations

import hashlib
import itertools
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ..records.cells import cell_path
from ..records.plans import Nodes, PlannedRepeat
from .launch import commands
from .options import PACKINGS
from .plan import seated
from .recipes import recipe_of
from .seating import device_ids, machines_shared

__all__ = ["build_waves", "device_bound", "lower_bound", "pack", "sample_alone"]

Repeats = Sequence[PlannedRepeat]
Devices = Mapping[str, Sequence[str]]
# Of one repeat: by node, the places of its devices among those of the node.
Seat = Dict[str, List[int]]
# How often a node has had a repeat of a cell.
Uses = Dict[Tuple[str, str], int]


def pack(repeats: Repeats, devices: Devices, packing: str) -> List[Dict[str, Any]]:
    """Return the waves, ``{"repeats": [{"index", "node_names", "devices"}], "seconds"}``, in order.

    ``none`` gives each repeat a wave of its own, in the given order on its cell's nodes, as the
    reference efforts ran. ``nodes`` and ``devices`` fill waves: longest repeats first, each into
    the first wave that can still seat it (longest processing time, first fit); a node then works
    for one repeat at a time, or for as many as it has devices for. With ``nodes``, on nodes with
    equal devices and with node counts that are powers of two, no other waves take less time: a
    repeat that fits into none of the waves would not fit into all their free nodes together either,
    so each wave is opened only when it must be. In other cases it is a heuristic.

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
            _packed([(index, list(repeat["cell"]["node_names"]), None)], repeats)
            for index, repeat in enumerate(repeats)
        ]
    whole = packing == "nodes"
    uses: Uses = {}
    made = []
    for members in _fill(repeats, devices, whole):
        seats = _seat(members, repeats, devices, whole, uses)
        # Spreading a cell over the nodes matters less than running beside the others.
        seats = seats or _seat(members, repeats, devices, whole, {}) or {}
        for index, seat in seats.items():
            for name in seat:
                key = cell_path(repeats[index]["cell"]), name
                uses[key] = uses.get(key, 0) + 1
        made.append(
            _packed([(i, [n for n in devices if n in s], s) for i, s in seats.items()], repeats)
        )
    return made


def _packed(
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
    # A wave holds at most so many nodes or devices; only below that is seating tried.
    room = len(devices) if whole else len({*itertools.chain(*devices.values())})
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


def _too_large(repeat: PlannedRepeat, devices: Devices) -> str:
    cell = repeat["cell"]
    return (
        f"{repeat['log']} needs {cell['nodes']} node(s) with {cell['devices_per_node']} device(s)"
        f" each; there are {', '.join(f'{name} with {len(ids)}' for name, ids in devices.items())}"
    )


def _seat(
    members: Sequence[int], repeats: Repeats, devices: Devices, whole: bool, uses: Uses
) -> Optional[Dict[int, Seat]]:
    """Return the seat of each member, None where not all of them can run at the same time.

    Repeats that need most devices per node are seated first, of equals those that need most nodes.
    A repeat takes the nodes with most devices left, of equals those that its cell has had least
    often: a slow node then shows as a spread of the cell instead of as its speed. With whole nodes
    only the latter counts: nodes with many devices can seat all that nodes with fewer can, so that
    no repeat seated later could do with less (Hall's theorem for nested sets).

    :param whole: a node runs one repeat, however many devices that takes.
    """

    def demand(index: int) -> Tuple[int, int]:
        return -repeats[index]["cell"]["devices_per_node"], -repeats[index]["cell"]["nodes"]

    taken: Set[str] = set()
    busy: Set[str] = set()
    seats: Dict[int, Seat] = {}
    for index in sorted(members, key=demand):
        cell = repeats[index]["cell"]
        path, per_node = cell_path(cell), cell["devices_per_node"]
        free = {
            name: [place for place, device in enumerate(ids) if device not in taken]
            for name, ids in devices.items()
            if name not in busy
        }
        able = [name for name, places in free.items() if len(places) >= per_node]
        able.sort(key=lambda name: (0 if whole else -len(free[name]), uses.get((path, name), 0)))
        seat = _first_places(able, cell["nodes"], per_node, free, devices)
        if len(seat) < cell["nodes"]:
            return None
        taken.update(devices[name][place] for name, places in seat.items() for place in places)
        busy.update(seat if whole else ())
        seats[index] = seat
    return seats


def _first_places(
    names: Sequence[str],
    count: int,
    per_node: int,
    free: Mapping[str, Sequence[int]],
    devices: Devices,
) -> Seat:
    """Return free places of the first ``count`` nodes; nodes that are one machine share GPUs."""
    taken: Set[str] = set()
    seat: Seat = {}
    for name in names:
        places = [place for place in free[name] if devices[name][place] not in taken]
        if len(seat) < count and len(places) >= per_node:
            seat[name] = places[:per_node]
            taken.update(devices[name][place] for place in seat[name])
    return seat


def build_waves(
    repeats: Repeats,
    packing: str,
    benchmarks: Mapping[str, Mapping[str, Any]],
    nodes: Nodes,
) -> List[Dict[str, Any]]:
    """Return the waves as Ansible runs them, each ``{"repeats", "shares", "seconds"}``.

    A repeat has ``packed_with``, the logs of those that run beside it. ``shares`` has, for each
    node with something to do, what it does at the same time: each the log that it works for and the
    arguments of module training_run: ``argv``, ``environment``, ``rank``, ``devices``,
    ``directory``, ``name``, ``output`` (the campaign's file for what it prints).

    :param repeats: with ``seconds``, in order.
    :param packing: one of ``options.PACKINGS``.
    :param benchmarks: checked definitions by name.
    :param nodes: by name, in seating order, what ``launch.commands`` needs and ``devices``.
    :raises ValueError: there is no such packing, or a repeat that the nodes cannot seat.
    """
    devices = {name: device_ids(name, node) for name, node in nodes.items()}
    if any(repeat["kind"] == "alone" for repeat in repeats):
        packing = "none"
    return [
        _wave(wave, repeats, benchmarks, nodes, packing == "devices")
        for wave in pack(repeats, devices, packing)
    ]


def _wave(
    wave: Mapping[str, Any],
    repeats: Repeats,
    benchmarks: Mapping[str, Mapping[str, Any]],
    nodes: Nodes,
    side_by_side: bool,
) -> Dict[str, Any]:
    members = [
        seated(repeats[seat["index"]], seat["node_names"], seat["devices"])
        for seat in wave["repeats"]
    ]
    logs = [member["log"] for member in members]
    crowded = machines_shared([member["cell"]["node_names"] for member in members], nodes)
    shares: Dict[str, List[Dict[str, Any]]] = {}
    for member in members:
        member["packed_with"] = [log for log in logs if log != member["log"]]
        member["shares_machine"] = crowded
        member["machines"] = {
            name: {"boot_id": nodes[name]["fingerprint"]["boot_id"]}
            for name in member["cell"]["node_names"]
        }
        for name, share in _shares(member, benchmarks, nodes, side_by_side).items():
            shares.setdefault(name, []).append(share)
    return {"repeats": members, "shares": shares, "seconds": wave["seconds"]}


def _shares(
    repeat: PlannedRepeat,
    benchmarks: Mapping[str, Mapping[str, Any]],
    nodes: Nodes,
    side_by_side: bool,
) -> Dict[str, Dict[str, Any]]:
    cell = repeat["cell"]
    recipe = recipe_of(benchmarks[cell["benchmark"]], cell)
    return {
        name: {
            "log": repeat["log"],
            "argv": command["argv"],
            "environment": command["env"],
            "rank": command["rank"],
            # An empty list: the whole node.
            "devices": cell["node_devices"][name] if side_by_side else [],
            "directory": cell["directory"],
            "name": repeat["name"],
            "output": repeat["logs"][name],
        }
        for name, command in commands(cell, recipe, nodes).items()
    }


def lower_bound(repeats: Repeats, count: int) -> float:
    """Return the least seconds that the repeats take on ``count`` whole nodes in any schedule.

    The larger of two: the time of all nodes together, spread evenly over the nodes, since a node
    runs one repeat at a time; and the longest chain of repeats that exclude each other. Two that
    both need more than half of the nodes have a node in common and cannot overlap, so their times
    add up; any one repeat alone is a chain too. Both hold with and without waves.

    :param repeats: each with ``cell["nodes"]`` and ``seconds``.
    :param count: how many nodes there are.
    """
    work = sum(repeat["cell"]["nodes"] * repeat["seconds"] for repeat in repeats)
    excluding = sum(repeat["seconds"] for repeat in repeats if 2 * repeat["cell"]["nodes"] > count)
    longest = max((repeat["seconds"] for repeat in repeats), default=0)
    return float(max(work / count, excluding, longest))


def device_bound(repeats: Repeats, devices: Mapping[str, Sequence[str]]) -> float:
    """Return the lower bound where a node runs as many repeats at once as its devices allow.

    The time of all devices together, spread evenly over them; and the chain of those that need
    more than half of the nodes, and on each of them more than half of the devices.

    :param repeats: each with ``cell["nodes"]``, ``cell["devices_per_node"]`` and ``seconds``.
    :param devices: the devices of each node by ``seating.device_ids``.
    """
    most = max(len(ids) for ids in devices.values())
    cells = [(repeat["cell"], repeat["seconds"]) for repeat in repeats]
    work = sum(cell["nodes"] * cell["devices_per_node"] * seconds for cell, seconds in cells)
    excluding = sum(
        seconds
        for cell, seconds in cells
        if 2 * cell["nodes"] > len(devices) and 2 * cell["devices_per_node"] > most
    )
    longest = max((seconds for _, seconds in cells), default=0)
    return float(max(work / len({*itertools.chain(*devices.values())}), excluding, longest))


def sample_alone(waves: Sequence[Mapping[str, Any]], seed: str, share: float = 0.1) -> List[int]:
    """Return the indices of packed repeats to run again alone, a random sample, ascending.

    They measure how much neighbours disturb.

    Each index gets the SHA-256 of ``<seed>:<index>`` and the smallest digests are drawn: without
    replacement, each repeat equally likely, the same on every machine and in every Python.

    :param waves: what :func:`pack` returned.
    :param seed: any text; the campaign's name gives each campaign its own sample.
    :param share: how much of the packed repeats to draw, above 0 up to 1; at least one is drawn
        where any was packed.
    :raises ValueError: the share is out of range.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share to run again alone: {share} is not above 0 and at most 1")
    packed = [
        seat["index"] for wave in waves if len(wave["repeats"]) > 1 for seat in wave["repeats"]
    ]
    drawn = sorted(packed, key=lambda index: hashlib.sha256(f"{seed}:{index}".encode()).digest())
    return sorted(drawn[: max(1, round(share * len(packed)))])
