"""Topologies ``<nodes>n<devices per node>g``: read, write, order, count."""

from __future__ import annotations

import re
from typing import Any, Iterable, List, Tuple

__all__ = ["COUNT_DIGITS", "format_topology", "parse_topology", "sort_topologies", "world_size"]

# Of the nodes, or of the devices per node.
COUNT_DIGITS = 9
_COUNT = f"([1-9][0-9]{{0,{COUNT_DIGITS - 1}}})"
_PATTERN = re.compile(f"{_COUNT}n{_COUNT}g", re.ASCII)


def parse_topology(text: Any) -> Tuple[int, int]:
    """Return (nodes, devices per node): ``"16n8g"`` gives ``(16, 8)``.

    :raises ValueError: ``text`` is not a topology.
    """
    match = _PATTERN.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(
            f"{text!r:.80} is not a topology: write <nodes>n<devices per node>g, as 4n8g"
        )
    return int(match.group(1)), int(match.group(2))


def format_topology(nodes: int, devices_per_node: int) -> str:
    """Return ``"4n8g"`` for 4 nodes of 8 devices.

    :raises ValueError: a count is not a whole number of at least 1.
    """
    for name, count in (("nodes", nodes), ("devices_per_node", devices_per_node)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"{name} {count!r:.80}: a topology needs a whole number of at least 1")
    return f"{nodes}n{devices_per_node}g"


def world_size(topology: str) -> int:
    """Return the number of devices of a topology: 32 for ``4n8g``.

    :raises ValueError: ``topology`` is not a topology.
    """
    nodes, devices_per_node = parse_topology(topology)
    return nodes * devices_per_node


def sort_topologies(topologies: Iterable[str]) -> List[str]:
    """Order by nodes, then by devices per node, so that 16n8g comes after 4n8g.

    :raises ValueError: one of them is not a topology.
    """
    return sorted(topologies, key=parse_topology)
