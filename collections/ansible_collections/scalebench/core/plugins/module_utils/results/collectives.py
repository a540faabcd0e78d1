"""Collective operations of measured cells: their durations over the sizes of the message."""

from __future__ import annotations

import math
import re
from typing import Collection, Dict, List, Mapping, Optional, Sequence, Tuple, cast

from ..records.cells import cell_key
from ..records.factors import TREATMENT, factor_values
from ..records.plans import Fingerprint
from ..records.results import CollectiveGroup, Collectives, Hockney, MeasuredCell
from ..records.runs import Message
from ..stats.laws import LEVEL, hockney
from ..stats.statistics import median

__all__ = ["all_reduce_times", "collectives", "variant"]

# The factor that the cells of a group differ in.
_SIZE = "message_bytes"
_TCP = "TCP/"
# As the driver prints the rate of a port: "100 Gb/sec (4X EDR)".
_PORT_RATE = re.compile(r"([0-9.]+) Gb/sec")


def collectives(
    cells: Sequence[MeasuredCell], nodes: Mapping[str, Fingerprint]
) -> Optional[Collectives]:
    """Return the durations of each operation on each topology, with latency and bandwidth.

    None where no log is of collective operations. Cells that run more processes than their machines
    have cores are among them: the report says so of them.

    :param nodes: fingerprints by name, for the line rate.
    """
    groups: Dict[Tuple[str, ...], List[MeasuredCell]] = {}
    for cell in cells:
        if _messages(cell):
            groups.setdefault(_identity(cell), []).append(cell)
    if not groups:
        return None
    return {"level": LEVEL, "groups": [_group(members, nodes) for members in groups.values()]}


def all_reduce_times(
    cells: Sequence[MeasuredCell],
) -> Dict[str, Dict[str, Dict[float, List[float]]]]:
    """Return the seconds of each all-reduce by its size in bytes, by topology, by :func:`variant`.

    Of several groups of cells on a topology, those with the most repeats. All-reduces of another
    variant of a campaign do not count for a training: it may be another network.
    """
    groups: Dict[Tuple[str, ...], List[MeasuredCell]] = {}
    for cell in cells:
        if any(message["collective"] == "all_reduce" for message in _messages(cell)):
            groups.setdefault(_identity(cell), []).append(cell)
    timed = [(members[0], _times(members)) for members in groups.values()]
    timed.sort(key=lambda one: sum(map(len, one[1].values())))
    found: Dict[str, Dict[str, Dict[float, List[float]]]] = {}
    for cell, times in timed:
        found.setdefault(variant(cell), {})[cell["topology"]] = times
    return found


def variant(cell: MeasuredCell) -> str:
    """Return which variant of a campaign a cell is of (``-e variants=``)."""
    return str(factor_values(cell)[TREATMENT])


def _messages(cell: MeasuredCell) -> List[Message]:
    stated = [repeat["message"] for repeat in cell["repeats"] if "message" in repeat]
    # A record may say anything; a time that is no time is none.
    return [one for one in stated if 0 < one["seconds"] < math.inf and one["bytes"] > 0]


def _identity(cell: MeasuredCell) -> Tuple[str, ...]:
    key = cell_key(cell)
    values = {name: value for name, value in factor_values(cell).items() if name != _SIZE}
    return (key.benchmark, key.model, key.topology, repr(sorted(values.items())))


def _group(members: Sequence[MeasuredCell], nodes: Mapping[str, Fingerprint]) -> CollectiveGroup:
    first = _messages(members[0])[0]
    times = _times(members)
    key = cell_key(members[0])
    return {
        "benchmark": key.benchmark,
        "precision": key.precision,
        "variant": _common([cell_key(cell).variant for cell in members]),
        "topology": key.topology,
        "devices": members[0]["devices"],
        "collective": first["collective"],
        "busbw_factor": first["busbw_factor"],
        "line_rate": _line_rate(members, nodes),
        "sizes": [
            {"bytes": int(size), "seconds": median(times[size]), "n": len(times[size])}
            for size in sorted(times)
        ],
        "fit": cast(Hockney, hockney(times)),
    }


def _line_rate(
    members: Sequence[MeasuredCell], nodes: Mapping[str, Fingerprint]
) -> Optional[float]:
    good = [repeat for cell in members for repeat in cell["repeats"] if "message" in repeat]
    ways = {way for repeat in good for way in repeat.get("transport") or ()}
    names = {name for repeat in good for name in repeat.get("node_names") or ()}
    return line_rate(nodes, names, ways)


def _times(members: Sequence[MeasuredCell]) -> Dict[float, List[float]]:
    times: Dict[float, List[float]] = {}
    for cell in members:
        for message in _messages(cell):
            times.setdefault(message["bytes"], []).append(message["seconds"])
    return times


def _common(variants: Sequence[str]) -> str:
    """Return the parts of a path that all variants have: without the size."""
    first, *others = (variant.split("-") for variant in variants)
    return "-".join(part for part in first if all(part in other for other in others))


def line_rate(
    nodes: Mapping[str, Fingerprint], names: Collection[str], transports: Collection[str]
) -> Optional[float]:
    """Return the line rate of the slowest node in MB/s (10^6 bytes), one way, without headers.

    Of TCP it is the speed of the one interface that carried the messages, as the kernel has it
    (ethtool's Speed), of InfiniBand and RoCE that of all active ports together, which NCCL uses
    unless the inventory names adapters. None where it is not known: one node, several interfaces,
    a virtual one, or a way that names neither.

    A ring sends each byte of the bus bandwidth once out of each node, so this is its upper bound;
    a tree or in-network reduction sends less.

    :param nodes: fingerprints by name.
    :param names: the nodes of a cell.
    :param transports: what carried its messages, as of a repeat in the results.
    """
    if len(names) < 2:
        return None
    if any(way.startswith("NET/IB") for way in transports):
        rates = [_ports(nodes.get(name) or {}) for name in names]
    else:
        cards = {way[len(_TCP) :] for way in transports if way.startswith(_TCP)}
        if len(cards) != 1:
            return None
        (card,) = cards
        rates = [_interface(nodes.get(name) or {}, card) for name in names]
    known = [rate for rate in rates if rate]
    return min(known) * 1000 / 8 if len(known) == len(names) else None


def _interface(node: Fingerprint, card: str) -> Optional[float]:
    """Return the speed of an interface in Gbit/s."""
    speed = ((node.get("interfaces") or {}).get(card) or {}).get("speed_mbit")
    return speed / 1000 if isinstance(speed, int) and speed > 0 else None


def _ports(node: Fingerprint) -> Optional[float]:
    """Return the rate of all active ports in Gbit/s."""
    ports = [
        port
        for device in (node.get("infiniband") or {}).values()
        for port in device.get("ports", {}).values()
    ]
    rates = [
        _PORT_RATE.match(str(port.get("rate") or ""))
        for port in ports
        if "ACTIVE" in str(port.get("state") or "")
    ]
    known = [float(rate.group(1)) for rate in rates if rate]
    return sum(known) if known and len(known) == len(rates) else None
