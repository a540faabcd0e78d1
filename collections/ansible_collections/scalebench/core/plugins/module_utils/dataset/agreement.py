"""Data sets of several nodes side by side: a table, and what is wrong in sentences."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .layouts import LAYOUTS

__all__ = ["agreement"]


def agreement(
    nodes: Mapping[str, Mapping[str, Mapping[str, Any]]], wanted: List[str]
) -> Dict[str, Any]:
    """Return ``rows``, one a node and form, and ``problems``, none where all nodes agree.

    :param nodes: by node what module dataset_info told: by form ``state`` (complete, incomplete,
        absent), ``problems``, ``files``, ``bytes``, ``digest``.
    :param wanted: forms that every node must have.
    """
    rows: List[Dict[str, Any]] = []
    problems: List[str] = []
    for layout in LAYOUTS:
        told = {name: layouts[layout] for name, layouts in nodes.items() if layout in layouts}
        for name, one in told.items():
            rows.append(
                {
                    "node": name,
                    "form": layout,
                    "state": one["state"],
                    "files": one["files"],
                    "MiB": round(one["bytes"] / (1 << 20), 1),
                    "digest": one["digest"][:12],
                    "what": "; ".join(one["problems"]),
                }
            )
            problems += [f"{name}: {layout}: {problem}" for problem in one["problems"]]
            if one["state"] == "absent" and layout in wanted:
                problems.append(f"{name}: {layout}: there is no such folder")
        digests: Dict[str, List[str]] = {}
        for name, one in told.items():
            if one["state"] == "complete":
                digests.setdefault(one["digest"], []).append(name)
        if len(digests) > 1:
            sides = " and ".join(", ".join(names) for names in digests.values())
            problems.append(f"{layout}: the files of {sides} differ")
    return {"rows": rows, "problems": problems}
