"""A campaign that is continued on a part of its nodes (``--limit``)."""

from __future__ import annotations

from typing import Dict, cast

from ..records.plans import Node, Nodes, Plan, Settings

__all__ = ["settings_of", "with_absent"]

# Of a node that is there: found anew each time.
_FOUND = ("fingerprint", "lost", "workload", "unusable")
# What planning reads of every fingerprint.
_NEEDED = ("boot_id", "cores", "gpus")
_ABSENT = "it is not in this run (--limit)"


def settings_of(nodes: Nodes) -> Dict[str, Settings]:
    """Return what a plan keeps of its nodes beside their fingerprints, in seating order."""
    return {
        name: cast(Settings, {key: value for key, value in node.items() if key not in _FOUND})
        for name, node in nodes.items()
    }


def with_absent(nodes: Nodes, kept: Plan) -> Dict[str, Node]:
    """Return the nodes of a kept plan in its order; those that this run lacks are lost.

    So their cells are unavailable, and those of the other nodes are planned as they were.

    :param nodes: of this run; those that the plan does not know follow the others.
    :param kept: a plan of before ``settings`` tells too little, and ``nodes`` are returned.
    :raises ValueError: the plan does not have of an absent node what planning needs.
    """
    whole: Dict[str, Node] = {}
    for name, settings in kept.get("settings", {}).items():
        if name in nodes:
            whole[name] = nodes[name]
            continue
        fingerprint = kept["nodes"].get(name, {})
        missing = [key for key in _NEEDED if key not in fingerprint]
        if missing:
            raise ValueError(f"plan.json has no {', '.join(missing)} of {name}: restore the file")
        whole[name] = cast(Node, {**settings, "fingerprint": fingerprint, "lost": _ABSENT})
    return {**whole, **nodes}
