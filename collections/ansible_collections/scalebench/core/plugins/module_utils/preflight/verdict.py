"""One row of the preflight's table, and the check that all nodes report the same value."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, TypedDict

from ..records.node_facts import Gpu, NodeFacts
from ..records.node_names import folded, without_own

__all__ = [
    "FAIL",
    "PASS",
    "SKIP",
    "WARN",
    "Nodes",
    "Row",
    "agreement",
    "by_model",
    "gpus_of",
    "model_of",
    "to_mend",
    "verdict",
]

PASS, WARN, FAIL, SKIP = "pass", "warn", "fail", "skip"
# By name of the node.
Nodes = Mapping[str, NodeFacts]


class Row(TypedDict):
    """The verdict of one check on one node."""

    check: str
    node: str
    verdict: str
    found: str
    todo: str


def verdict(check: str, node: str, word: str, found: str, todo: str = "") -> Row:
    """Return a row of the preflight's table.

    :param word: one of ``PASS``, ``WARN``, ``FAIL``, ``SKIP``.
    :param found: the observed value, or for ``SKIP`` why there is none.
    :param todo: what to do about it; empty for nothing.
    """
    return {"check": check, "node": node, "verdict": word, "found": found, "todo": todo}


def agreement(
    check: str,
    nodes: Nodes,
    value: Callable[[NodeFacts], Any],
    word: str,
    todo: str,
    expected: Any = None,
) -> List[Row]:
    """Return a row for each node: whether it has the expected value, or else that of most nodes.

    Without an expected value a node whose ``value`` is None is skipped; with one it fails like any
    other that differs.

    :param value: reads the compared value from a node's facts.
    :param word: the verdict of a node that differs.
    :param todo: what to do there; ``{wanted}`` is filled in.
    """
    values = {name: value(node) for name, node in nodes.items()}
    known = [found for found in values.values() if found is not None]
    wanted = expected
    if wanted is None and known:
        # Of equally frequent values that of the first node is wanted, which leads the campaign.
        wanted = max(known, key=known.count)
    rows = []
    for name, found in values.items():
        if found is None and expected is None:
            rows.append(verdict(check, name, SKIP, "there is none"))
        elif found == wanted:
            rows.append(verdict(check, name, PASS, str(found)))
        else:
            shown = "none" if found is None else str(found)
            rows.append(verdict(check, name, word, shown, todo.format(wanted=wanted)))
    return rows


def by_model(nodes: Nodes) -> List[Nodes]:
    """Return the nodes by model of their GPUs, those without any beside the most frequent one."""
    known = [model for node in nodes.values() for model in (model_of(node),) if model]
    usual = max(known, key=known.count) if known else None
    models = {name: model_of(node) or usual for name, node in nodes.items()}
    return [
        {name: nodes[name] for name, model in models.items() if model == one}
        for one in dict.fromkeys(models.values())
    ]


def gpus_of(node: NodeFacts) -> List[Gpu]:
    """Return the GPUs of a node."""
    return list(node["fingerprint"].get("gpus") or [])


def model_of(node: NodeFacts) -> Optional[str]:
    """Return the names of a node's GPUs; None without any."""
    return ", ".join(sorted({gpu["name"] for gpu in gpus_of(node)})) or None


def to_mend(rows: Sequence[Row]) -> List[Dict[str, str]]:
    """Return the failed checks and warnings, the nodes of those with the same words together.

    A node's own name and address in ``found`` make no difference; those of the first are shown.
    """
    nodes: Dict[Tuple[str, ...], List[Row]] = {}
    for row in rows:
        if row["verdict"] in (FAIL, WARN):
            found = without_own(row["found"], [row["node"]])
            words = (row["verdict"], row["check"], found, row["todo"])
            nodes.setdefault(words, []).append(row)
    return [
        {
            "verdict": word,
            "check": check,
            "node": folded(row["node"] for row in some),
            "found": some[0]["found"],
            "todo": todo,
        }
        for (word, check, _, todo), some in nodes.items()
    ]
