"""What benchmark diagnose measured, from its logs; what it will measure, from the nodes."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Tuple

__all__ = ["EVERY_PAIR", "measurement", "schedule"]

# As in workloads/collectives/rounds.py, which makes the rounds.
EVERY_PAIR, _REPEATED = 32, 2
_LINES = {
    "alone": ("[scalebench] alone ", ("test", "node", "device")),
    "pairs": ("[scalebench] pair ", ("nodes",)),
}


def measurement(logs: Iterable[str]) -> Dict[str, Any]:
    """Return ``nodes``, ``alone`` and ``pairs`` as :func:`.suspects.judge` takes them.

    Rates of the same device or pair in several logs are joined, those of pairs that were measured
    again (``again``) last. Source of the lines: workloads/collectives/nodes_and_pairs.py.

    :raises ValueError: no such line, or one that cannot be read.
    """
    found: Dict[str, Dict[Tuple[Any, ...], Dict[str, Any]]] = {kind: {} for kind in _LINES}
    again: List[Tuple[Dict[str, Any], List[float]]] = []
    for text in logs:
        for line in text.split("\n"):
            for kind, (mark, keys) in _LINES.items():
                _, is_there, row_text = line.partition(mark)
                if is_there:
                    row = _row(row_text, keys)
                    key = tuple(str(row[name]) for name in keys)
                    repeated = row.pop("again")
                    if key not in found[kind]:
                        found[kind][key] = row
                    elif repeated:
                        again.append((found[kind][key], row["rates"]))
                    else:
                        found[kind][key]["rates"] += row["rates"]
    for row, rates in again:
        row["rates"] += rates
    if not found["alone"] or not found["pairs"]:
        raise ValueError("the logs have no figures of nodes and pairs: was it benchmark diagnose?")
    rows = {kind: list(of_kind.values()) for kind, of_kind in found.items()}
    nodes = list(dict.fromkeys(row["node"] for row in rows["alone"]))
    unknown = {node for row in rows["pairs"] for node in row["nodes"]}.difference(nodes)
    if unknown:
        raise ValueError(f"pairs with {sorted(unknown)}, of which nothing alone was measured")
    return {"nodes": nodes, **rows}


def _row(text: str, keys: Tuple[str, ...]) -> Dict[str, Any]:
    try:
        row = json.loads(text)
        kept = {name: row[name] for name in keys}
        rates = [float(rate) for rate in row["rates"]]
        if "nodes" in kept and (len(kept["nodes"]) != 2 or len(set(kept["nodes"])) != 2):
            raise ValueError("a pair has two nodes")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"a line of the log cannot be read: {text[:80]!r}: {error}") from None
    return {**kept, "rates": rates, "again": bool(row.get("again"))}


def schedule(nodes: int) -> List[str]:
    """Return what a diagnosis of so many nodes measures, in sentences."""
    lines = [
        "What deficit can be found depends on the noise, and the report states it. In simulation,"
        " at 2 % of noise, a link 20 % slower and a node 10 % slower are (docs/diagnose.md).",
        f"Each of {nodes} nodes alone, all at the same time: matrix product, memory copy.",
    ]
    every = nodes * (nodes - 1) // 2
    again = f"Those that look slow or whose repeats disagree again, in at most {_REPEATED} rounds."
    if nodes <= EVERY_PAIR:
        count = nodes - 1 + nodes % 2
        return [*lines, f"All {every} pairs of nodes, in {count} rounds of disjoint pairs.", again]
    count = nodes.bit_length() + 2 - _REPEATED
    pairs = count * (nodes // 2)
    more = "A slow node is found among all, a slow link only if it is one of the measured."
    return [*lines, f"{pairs} of {every} pairs, in {count} rounds of disjoint pairs.", again, more]
