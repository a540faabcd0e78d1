"""What one check says of one node, and what nodes say when they should all say the same."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping

__all__ = ["FAIL", "PASS", "SKIP", "WARN", "Nodes", "Row", "agreement", "verdict"]

PASS, WARN, FAIL, SKIP = "pass", "warn", "fail", "skip"
Row = Dict[str, Any]
# By name, what module preflight_facts and the fingerprint say of a node.
Nodes = Mapping[str, Mapping[str, Any]]


def verdict(check: str, node: str, word: str, found: str, todo: str = "") -> Row:
    """Return a row of the preflight's table.

    :param word: one of ``PASS``, ``WARN``, ``FAIL``, ``SKIP``.
    :param found: what was seen, or for ``SKIP`` why nothing was.
    :param todo: what to do about it; empty where nothing is to be done.
    """
    return {"check": check, "node": node, "verdict": word, "found": found, "todo": todo}


def agreement(
    check: str,
    nodes: Nodes,
    value: Callable[[Mapping[str, Any]], Any],
    word: str,
    todo: str,
    expected: Any = None,
) -> List[Row]:
    """Return a row for each node: does it say what is expected, or else what most nodes say?

    A node whose ``value`` is None does not have what is compared, and is skipped; where there is
    an expected value it fails like any other that differs.

    :param word: the verdict of a node that differs.
    :param todo: what to do there; ``{wanted}`` is filled in.
    """
    values = {name: value(node) for name, node in nodes.items()}
    told = [found for found in values.values() if found is not None]
    wanted = expected
    if wanted is None and told:
        # Of several that are as frequent the first node's is wanted, which leads the campaign.
        wanted = max(told, key=told.count)
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
