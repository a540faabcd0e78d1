"""Checks of the data set that a campaign reads: whole, and the same on every node."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from .verdict import FAIL, WARN, Nodes, Row, agreement, verdict

__all__ = ["data_checks"]

# As git does: enough to tell two digests apart.
_SHOWN = 12


def data_checks(nodes: Nodes) -> List[Row]:
    """Return the rows about data, of nodes whose ``dataset`` is what module dataset_info told.

    What is not whole is a warning, because a part of ImageNet may be meant; what differs is none.
    """
    again = "copy it anew, so that all nodes have {wanted}: docs/data.md"
    rows = agreement("dataset", nodes, _digests, FAIL, again)
    for name, node in nodes.items():
        problems = [
            f"{form}: {problem}"
            for form, told in (node.get("dataset") or {}).items()
            for problem in told["problems"]
        ]
        if problems:
            todo = "copy what is missing, or go on where only a part is meant: docs/data.md"
            rows.append(verdict("dataset files", name, WARN, "; ".join(problems), todo))
    return rows


def _digests(node: Mapping[str, Any]) -> Optional[str]:
    found = [
        f"{form} {told['digest'][:_SHOWN]}"
        for form, told in (node.get("dataset") or {}).items()
        if told["digest"]
    ]
    return ", ".join(found) or None
