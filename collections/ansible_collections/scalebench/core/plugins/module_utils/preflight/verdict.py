"""One row of the preflight's table, and the check that all nodes report the same value."""

from __future__ import annotations

from collections import Counter
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
    key: str = "",
) -> List[Row]:
    """Return a row for each node: whether it has the expected value, or else that of most nodes.

    Without an expected value a node whose ``value`` is None is skipped; with one it fails like any
    other that differs.

    :param value: reads the compared value from a node's facts.
    :param word: the verdict of a node that differs from most; with an expected value of its own it
        is ``FAIL``.
    :param todo: what to do there; ``{wanted}`` is filled in.
    :param key: of the value in a node's ``expected``; empty where nothing can be expected.
    """
    values = {name: value(node) for name, node in nodes.items()}
    expected = {name: node["expected"].get(key) for name, node in nodes.items()}
    # A node counts as it should be, where that is known, unless no node is so.
    counted = [values[name] if own is None else own for name, own in expected.items()]
    there = {*map(repr, values.values())}
    known = [one for one in counted if one is not None and repr(one) in there]
    # Of equally frequent values that of the first node is wanted, which leads the campaign.
    usual = _most_frequent(known)
    rows = []
    for name, found in values.items():
        own = expected[name]
        wanted = usual if own is None else own
        if found is None and own is None:
            rows.append(verdict(check, name, SKIP, "there is none"))
        elif found == wanted:
            rows.append(verdict(check, name, PASS, str(found)))
        else:
            shown = "none" if found is None else str(found)
            differs = word if own is None else FAIL
            rows.append(verdict(check, name, differs, shown, todo.format(wanted=wanted)))
    return rows


def _most_frequent(values: Sequence[Any]) -> Any:
    """Return the most frequent value, of equally frequent ones the first; None if there is none."""
    counts = Counter(map(repr, values))
    return max(values, key=lambda value: counts[repr(value)], default=None)


def by_model(nodes: Nodes) -> List[Nodes]:
    """Return the nodes by model of their GPUs, those without any beside the most frequent one."""
    known = [model for node in nodes.values() for model in (model_of(node),) if model]
    usual = _most_frequent(known)
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
