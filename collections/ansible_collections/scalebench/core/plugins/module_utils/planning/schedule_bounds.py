"""What no schedule of the repeats can beat, whatever runs beside what."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

__all__ = ["device_bound", "lower_bound"]


def lower_bound(repeats: Sequence[Mapping[str, Any]], count: int) -> float:
    """Return the seconds that the repeats take at least on ``count`` nodes, each whole.

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


def device_bound(
    repeats: Sequence[Mapping[str, Any]], devices: Mapping[str, Sequence[str]]
) -> float:
    """Return the same where a node runs as many repeats at a time as it has devices for.

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
    return float(
        max(work / len({one for ids in devices.values() for one in ids}), excluding, longest)
    )
