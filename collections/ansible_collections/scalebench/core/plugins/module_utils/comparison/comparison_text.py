"""The comparison with a baseline in words: a section of the report and a line for the terminal."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Sequence

from ..layout.sections import Section, section, table
from ..records.cells import IDENTITY_KEYS

__all__ = ["changed_names", "comparison_line", "comparison_sections"]

_MOST_NAMED = 6
_NUMBERED = re.compile(r"(.*?)(\d+)")


def comparison_sections(results: Mapping[str, Any]) -> List[Section]:
    """Return the section of results that were compared with a baseline, none of others."""
    found = results.get("comparison")
    if not found:
        return []
    every = [*found["cells"], *found["not_compared"]]
    tables = []
    if found["cells"]:
        rows = [_row(cell, every) for cell in found["cells"]]
        tables.append(table("Throughput of the baseline and now, and the change", rows))
    if found["not_compared"]:
        rows = [
            {"cell": _label(cell, every), "reason": cell["reason"]}
            for cell in found["not_compared"]
        ]
        tables.append(table("Not compared", rows))
    if found["changes"]["changed"]:
        rows = [_change(one) for one in found["changes"]["changed"]]
        tables.append(table("What changed between the two", rows))
    title = f"Against {found['baseline']['campaign']}"
    return [section("comparison", title, _words(found), tables, _unknown(found["changes"]))]


def _row(cell: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    unrecorded = ", ".join(cell["not_recorded"])
    remarks = [cell["why"], f"recorded on one side only: {unrecorded}" if unrecorded else ""]
    return {
        "cell": _label(cell, every),
        "baseline": cell["baseline_speed"],
        "now": cell["speed"],
        "unit": cell["unit"],
        "repeats": f"{cell['baseline_repeats']}, {cell['repeats']}",
        "change %": 100 * (cell["ratio"] - 1),
        "interval %": _interval(cell, "{} to {}") or None,
        "finding": cell["finding"],
        "why": "; ".join(remark for remark in remarks if remark) or "-",
    }


def _words(found: Mapping[str, Any]) -> List[str]:
    created = found["baseline"]["created"]
    planned = f", planned {created}" if created else ""
    level, margin = _percent(found["level"]), _percent(found["margin"])
    return [
        f"The baseline is campaign {found['baseline']['campaign']}{planned}, given as"
        f" {found['baseline']['given']}.",
        "Change: ratio of the geometric means of the repeats' throughput, with its"
        f" {level} interval by Welch's t on their logarithms. A cell is slower or faster where a"
        f" difference is shown, all cells together at {_percent(1 - found['level'])} (Holm);"
        f" equivalent where the ratio is shown to lie within {margin} of 1 (two one-sided tests at"
        " 5 %); different within margin where both are shown; undecided where neither is.",
        "The repeats of one campaign tell how much its own repeats scatter, and not how much"
        " the same cluster differs from one day to the next.",
    ]


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _change(one: Mapping[str, Any]) -> Dict[str, str]:
    return {
        "where": _several(one["nodes"]) or "campaign",
        "what": one["what"],
        "baseline": str(one["baseline"]),
        "now": str(one["now"]),
    }


def _unknown(found: Mapping[str, Any]) -> List[str]:
    """Say what no table can: that nothing changed, and what was not recorded."""
    said = [] if found["changed"] else [_unchanged(found)]
    for side, words in (("baseline", "in the baseline"), ("now", "now")):
        unknown = [one["what"] for one in found["not_recorded"] if one["side"] == side]
        if unknown:
            said.append(f"not recorded {words}: {', '.join(unknown)}")
    return said


def _unchanged(found: Mapping[str, Any]) -> str:
    if any(one["what"] == "nodes" for one in found["not_recorded"]):
        return "what changed is not recorded"
    return "nothing that is recorded changed"


def _several(nodes: Sequence[str]) -> str:
    """Return ``node1..node4`` for names that count on, else all of them."""
    parts = [_NUMBERED.fullmatch(name) for name in nodes]
    counted = [(part[1], int(part[2])) for part in parts if part]
    first, start = counted[0] if counted else ("", 0)
    counts_on = counted == [(first, start + index) for index in range(len(nodes))]
    return f"{nodes[0]}..{nodes[-1]}" if counts_on and len(nodes) > 2 else ", ".join(nodes)


def _label(cell: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> str:
    """Name a cell by its topology and whatever else differs among the cells."""
    return " ".join(
        str(cell[name])
        for name in IDENTITY_KEYS
        if name == "topology" or len({str(one[name]) for one in every}) > 1
    )


def _interval(cell: Mapping[str, Any], form: str = "[{}, {}]") -> str:
    """Return the bounds of the change in percent; empty for none."""
    if cell["low"] is None:
        return ""
    return form.format(*(f"{100 * (cell[bound] - 1):+.1f}" for bound in ("low", "high")))


def changed_names(found: Mapping[str, Any]) -> str:
    """Return what changed by name alone: ``kernel, pytorch torch``, or that nothing did."""
    names = list(dict.fromkeys(one["what"] for one in found["changes"]["changed"]))
    if not names:
        return _unchanged(found["changes"])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"changed: {', '.join(names[:_MOST_NAMED])}{more}"


def comparison_line(results: Mapping[str, Any]) -> str:
    """Return the findings of a comparison in one sentence.

    :param results: with ``comparison``.
    """
    found = results["comparison"]
    cells = found["cells"]
    said = []
    for finding in ("slower", "faster", "equivalent", "different within margin", "undecided"):
        those = [cell for cell in cells if cell["finding"] == finding]
        if those:
            said.append(f"{len(those)} {finding}{_worst(finding, those, cells, found['margin'])}")
    if found["not_compared"]:
        said.append(f"{len(found['not_compared'])} not compared")
    compared = f" of {len(cells)} cell(s): " if cells else ": "
    return (
        f"against {found['baseline']['campaign']}{compared}{', '.join(said)};"
        f" {changed_names(found)}"
    )


def _worst(
    finding: str,
    those: Sequence[Mapping[str, Any]],
    cells: Sequence[Mapping[str, Any]],
    margin: float,
) -> str:
    if finding == "equivalent":
        return f" within {_percent(margin)}"
    if finding not in ("slower", "faster"):
        return ""
    far = (min if finding == "slower" else max)(those, key=lambda cell: float(cell["ratio"]))
    change = f"{_label(far, cells)} {100 * (far['ratio'] - 1):+.1f} % {_interval(far)}"
    return f" ({change})" if len(those) == 1 else f" (most: {change})"
