"""Which nodes to leave out so that no suspect of a diagnosis takes part."""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Mapping, Sequence

from .suspects import LINK_SEPARATOR

__all__ = ["to_exclude"]

# Kinds of suspects that are one node or a part of one, whose subject begins with its name.
_OF_ONE_NODE = ("node", "device", "network")


def to_exclude(suspects: Sequence[Mapping[str, Any]]) -> List[str]:
    """Return the nodes whose absence leaves no slow node, device, network of a node, or link.

    Of each slow link one end is left out: of all ends the one with the most slow links first, of
    equal ones the last by name. Slow groups and their ways out stay: that is no matter of a node.
    """
    left_out: Dict[str, None] = {
        suspect["subject"].split()[0]: None
        for suspect in suspects
        if suspect["kind"] in _OF_ONE_NODE
    }
    every = [
        suspect["subject"].split(LINK_SEPARATOR)
        for suspect in suspects
        if suspect["kind"] == "link"
    ]
    while True:
        counts = Counter(end for ends in every if not left_out.keys() & set(ends) for end in ends)
        if not counts:
            return list(left_out)
        left_out[max(counts, key=lambda end: (counts[end], end))] = None
