"""Which topologies run: those asked for, or the usual ones that the nodes can seat."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence, Tuple

from ..topology import format_topology, parse_topology
from .seating import can_seat

__all__ = ["topologies"]


def topologies(
    options: Mapping[str, Any],
    usual: Sequence[str],
    nodes: Mapping[str, Mapping[str, Any]],
) -> List[Tuple[int, int]]:
    """Return nodes and devices per node of each, in order.

    :param options: one that is asked for must be seated; a usual one is left out instead.
    :param usual: as ``1n*g``, ``*`` standing for all devices of a node.
    :param nodes: per node, in seating order, ``devices`` (how many) and ``device`` (cpu or gpu).
    :raises ValueError: the nodes cannot seat what is asked for.
    """
    devices = [node["devices"] for node in nodes.values()]
    found: List[Tuple[int, int]] = []
    for text in options.get("topology", usual):
        count, per_node = parse_topology(str(text).replace("*", str(min(devices))))
        seated = count <= len(nodes) and can_seat(list(nodes)[:count], per_node, nodes)
        if not seated and "topology" in options:
            raise ValueError(
                f"-e topology={text}: it needs {count} node(s) with {per_node} device(s) each; the"
                f" inventory has {len(devices)} ({', '.join(nodes)}) with"
                f" {_device_counts(nodes)}. From {format_topology(1, 1)} to"
                f" {format_topology(len(devices), min(devices))} can be seated"
            )
        if seated and (count, per_node) not in found:
            found.append((count, per_node))
    return sorted(found)


def _device_counts(nodes: Mapping[str, Mapping[str, Any]]) -> str:
    kinds = {(node["devices"], node["device"]) for node in nodes.values()}
    words = {"gpu": "GPU(s)", "cpu": "CPU process(es)"}
    return " or ".join(f"{count} {words[kind]}" for count, kind in sorted(kinds)) + " each"
