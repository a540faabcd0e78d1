"""What happened to a campaign, a line each: retries, disturbances, skipped and invalid cells."""

from __future__ import annotations

import textwrap
from typing import Any, Dict, List, Mapping

from ..layout.rows import listed

__all__ = ["what_happened"]

Cell = Mapping[str, Any]
# Of a terminal; a sentence that names more than fits refers to the report.
_WIDTH = 100


def what_happened(results: Mapping[str, Any]) -> List[str]:
    """Return at most one line for each kind of thing that happened, the gravest first."""
    return [
        *_searches(results),
        *_invalid(results),
        *_never_ran(results),
        *_disturbed(results),
        *_retried(results),
        *_odd(results),
        *_packed(results),
    ]


def _searches(results: Mapping[str, Any]) -> List[str]:
    said = []
    for search in results["searches"]:
        name = f"{search['benchmark']} {search['precision']}"
        if search["largest"]:
            said.append(f"{name}: the largest batch size per device that runs: {search['largest']}")
        else:
            said.append(f"{name}: {search['reason']}")
    return said


def _invalid(results: Mapping[str, Any]) -> List[str]:
    return [
        f"{listed([cell], results)}: {cell['speedup_reason']}"
        for cell in results["cells"]
        if cell["invalid"]
    ]


def _never_ran(results: Mapping[str, Any]) -> List[str]:
    """Name cells without a speed together that have the same reason."""
    found: Dict[str, List[Cell]] = {}
    for cell in results["cells"]:
        for one in (cell["unavailable"] or cell["skipped"])[:1]:
            found.setdefault(f"{one['ending']}: {one['reason']}", []).append(cell)
    return [f"{listed(cells, results)}: {reason}" for reason, cells in found.items()]


def _disturbed(results: Mapping[str, Any]) -> List[str]:
    repeats = [r for cell in results["cells"] for r in cell["repeats"] if r["ending"] == "ok"]
    disturbed = [repeat for repeat in repeats if repeat["disturbances"]]
    if not disturbed:
        return []
    kinds: Dict[str, List[str]] = {}
    for repeat in disturbed:
        for one in repeat["disturbances"]:
            nodes = kinds.setdefault(one["kind"].replace("_", " "), [])
            if one["node"] not in nodes:
                nodes.append(one["node"])
    what = "; ".join(f"{kind} on {', '.join(sorted(nodes))}" for kind, nodes in kinds.items())
    return [_line(f"{len(disturbed)} of {len(repeats)} repeats were disturbed: {what}")]


def _retried(results: Mapping[str, Any]) -> List[str]:
    retried = [
        repeat
        for cell in results["cells"]
        for repeat in (*cell["repeats"], *cell["unfinished"])
        if repeat["earlier"]
    ]
    if not retried:
        return []
    count = f"{len(retried)} repeat{'s' if len(retried) > 1 else ''}"
    endings: Dict[str, int] = {}
    for repeat in retried:
        for one in repeat["earlier"]:
            name = "disturbed" if one["ending"] == "ok" else one["ending"]
            endings[name] = endings.get(name, 0) + 1
    what = ", ".join(f"{number} {name}" for name, number in endings.items())
    return [_line(f"{count} needed more than one attempt; earlier ones: {what}")]


def _odd(results: Mapping[str, Any]) -> List[str]:
    """Tell the first warning; report.md has them all."""
    found = [
        f"{listed([cell], results)}: odd: {warning['detail']}"
        for cell in results["cells"]
        for warning in cell["warnings"]
    ]
    more = f" (and {len(found) - 1} more in the report)" if len(found) > 1 else ""
    return [found[0] + more] if found else []


def _packed(results: Mapping[str, Any]) -> List[str]:
    packing = results["packing"]
    if not packing or not packing["beside_others"]:
        return []
    found = results["interference"]
    cost = found["reason"]
    if found["n"]:
        cost = f"interference {found['median']:.2f} of the speed alone (median of {found['n']})"
    many = f"{packing['beside_others']} of {packing['repeats']} repeats ran beside others"
    return [f"packed: {many}; {cost}"]


def _line(text: str) -> str:
    return textwrap.shorten(text, _WIDTH, placeholder=" …")
