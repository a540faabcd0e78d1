"""All checks of the preflight over all nodes, and their sum."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from .fabric_checks import fabric_checks
from .gpu_checks import gpu_checks
from .host_checks import host_checks
from .verdict import FAIL, PASS, SKIP, WARN, Nodes, Row

__all__ = ["judge"]

_ORDER = (FAIL, WARN, PASS, SKIP)


def judge(nodes: Nodes, expected: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    """Return ``rows`` (failures first), ``verdict`` (the worst), ``counts`` and ``summary``.

    :param nodes: by name: ``fingerprint`` (module node_fingerprint_facts) and what module
        preflight_facts returns.
    :param expected: what the checks' functions take: ``gpus``, ``gpu_model``, ``driver``,
        ``infiniband_ports``, ``free_mib``; None and absent mean the same.
    """
    given = {key: value for key, value in (expected or {}).items() if value not in (None, "", 0)}
    rows: List[Row] = [
        *gpu_checks(nodes, given),
        *fabric_checks(nodes, given),
        *host_checks(nodes, given),
    ]
    # Sorting keeps the order of equals, so that checks stay together.
    rows.sort(key=lambda row: _ORDER.index(row["verdict"]))
    counts = {word: len([row for row in rows if row["verdict"] == word]) for word in _ORDER}
    worst = next(word for word in (FAIL, WARN, PASS, SKIP) if counts[word] or word == SKIP)
    words = [f"{counts[word]} {word}" for word in _ORDER if counts[word]]
    summary = f"preflight of {len(nodes)} node(s): {', '.join(words)}"
    return {"rows": rows, "verdict": worst, "counts": counts, "summary": summary}
