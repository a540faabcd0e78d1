"""What no schedule of the repeats can beat, whatever runs beside what."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

__all__ = ["lower_bound"]


def lower_bound(repeats: Sequence[Mapping[str, Any]], count: int) -> float:
    """Return the seconds that the repeats take at least on ``count`` nodes.

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
