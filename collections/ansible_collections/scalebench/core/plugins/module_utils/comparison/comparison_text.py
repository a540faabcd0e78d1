"""The comparison with a baseline in words: a section of the report and a line for the terminal."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ..layout.plain_text import listed
from ..layout.sections import Section, percent, section, table
from ..records.cells import IDENTITY_KEYS
from ..records.node_names import folded
from ..records.results import Results
from .cell_figures import NEW_DAY, SAME_DAY

__all__ = ["comparison_line", "comparison_sections"]

_MOST_NAMED = 6
_METHODS = {
    SAME_DAY: "Welch's t on the logarithms",
    NEW_DAY: "the t of a new day on the logarithms of the days' means (Kalibera and Jones 2013)",
}


def comparison_sections(results: Results) -> List[Section]:
    """Return the section on the comparison with a baseline; nothing where there was none."""
    comparison = results.get("comparison")
    if not comparison:
        return []
    every = [*comparison["cells"], *comparison["not_compared"]]
    tables = []
    if comparison["cells"]:
        rows = [_row(cell, every) for cell in comparison["cells"]]
        tables.append(table("Throughput of the baseline and now, and the change", rows))
    if comparison["not_compared"]:
        rows = [
            {"cell": _label(cell, every), "reason": cell["reason"]}
            for cell in comparison["not_compared"]
        ]
        tables.append(table("Not compared", rows))
    changes = comparison["changes"]
    if changes["changed"]:
        rows = [_change(one) for one in changes["changed"]]
        tables.append(table("What changed between the two", rows))
    title = f"Against {_against(comparison)}"
    items = [*_unknown(changes), *_remarks(comparison, every)]
    return [section("comparison", title, _about(comparison), tables, items)]


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
        "holds for": cell["scope"],
        "why": "; ".join(remark for remark in remarks if remark) or "-",
    }


def _about(comparison: Mapping[str, Any]) -> List[str]:
    level, margin = percent(comparison["level"]), percent(comparison["margin"])
    return [
        _origins(comparison),
        "Baseline and now: geometric means of the repeats' samples over the time of their steps; of"
        " the figures of the rule where a repeat of either side does not tell that time. Change:"
        f" their ratio, with its {level} interval by {_METHODS[comparison['scope']]}. A cell is"
        " slower or faster where a difference is shown, all cells together at"
        f" {percent(1 - comparison['level'])} (Holm);"
        f" equivalent where the ratio is shown to lie within {margin} of 1 (two one-sided tests at"
        " 5 %); different within margin where both are shown; undecided where neither is.",
        *_scopes(comparison),
    ]


def _origins(comparison: Mapping[str, Any]) -> str:
    """Return which campaigns are the baseline, and as what the user gave it."""
    campaigns = [
        one["campaign"] + (f", planned {one['created']}" if one["created"] else "")
        for one in comparison["baselines"]
    ]
    given = f"given as {comparison['baseline']['given']}"
    if len(campaigns) == 1:
        return f"The baseline is campaign {campaigns[0]}, {given}."
    return (
        f"The baseline is {len(campaigns)} campaigns, {given}: {'; '.join(campaigns)}. What changed"
        f" is told against the latest, {comparison['baseline']['campaign']}."
    )


def _scopes(comparison: Mapping[str, Any]) -> List[str]:
    """Return what the verdicts hold for."""
    scopes = {cell["scope"] for cell in comparison["cells"]}
    lines = []
    if SAME_DAY in scopes:
        lines.append(
            "Same day only: the baseline of a cell is of one day. Its repeats show how much repeats"
            " scatter, not how much the same cluster differs from one day to the next; a difference"
            " may come from the day alone. Campaigns of several days as the baseline show that."
        )
    if NEW_DAY in scopes:
        earlier = {
            one["campaign"] for cell in comparison["cells"] for one in cell.get("earlier", ())
        }
        days = "the days of the baseline"
        if earlier:
            days += f" and of {len(earlier)} earlier campaign(s) of the same hardware and plan"
        lines.append(
            f"New day: the interval contains how much {days} differ, so that the verdict also holds"
            " where this campaign is of another day."
        )
    return lines


def _remarks(comparison: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> List[str]:
    """Return which runs lie apart, and which campaigns are not part of the baseline."""
    lines = [
        f"{_label(cell, every)}: repeat {one['repeat']} of {one['campaign']}"
        f" ({one['throughput']:.4g} {cell['unit']}) lies far from the others of its campaign; it is"
        " part of all figures here; rule deficit of a gate leaves such runs out, and names them"
        for cell in comparison["cells"]
        for one in cell["outlying"]
    ]
    lines += [
        f"{_label(cell, every)}: without {one['campaign']}: {one['reason']}"
        for cell in comparison["cells"]
        for one in cell["left_out"]
    ]
    return lines + [
        f"not in the baseline: {listed(one['campaigns'])}: {one['reason']}"
        for one in comparison.get("not_chosen", [])
    ]


def _change(one: Mapping[str, Any]) -> Dict[str, str]:
    return {
        "where": folded(one["nodes"]) or "campaign",
        "what": one["what"],
        "baseline": str(one["baseline"]),
        "now": str(one["now"]),
    }


def _unknown(changes: Mapping[str, Any]) -> List[str]:
    """Return what the table of changes lacks: that nothing changed, and what was not recorded."""
    lines = [] if changes["changed"] else [_unchanged(changes)]
    for side, words in (("baseline", "in the baseline"), ("now", "now")):
        unknown = [one["what"] for one in changes["not_recorded"] if one["side"] == side]
        if unknown:
            lines.append(f"not recorded {words}: {', '.join(unknown)}")
    return lines


def _unchanged(changes: Mapping[str, Any]) -> str:
    if any(one["what"] == "nodes" for one in changes["not_recorded"]):
        return "what changed is not recorded"
    return "no recorded condition changed"


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


def _changed_names(comparison: Mapping[str, Any]) -> str:
    """Return the names of what changed: ``kernel, pytorch torch``, or that nothing did."""
    names = list(dict.fromkeys(one["what"] for one in comparison["changes"]["changed"]))
    if not names:
        return _unchanged(comparison["changes"])
    return f"changed: {listed(names, _MOST_NAMED)}"


def comparison_line(results: Results) -> str:
    """Return the findings of a comparison in one sentence.

    :param results: with ``comparison``.
    """
    comparison = results["comparison"]
    cells = comparison["cells"]
    findings = []
    for finding in ("slower", "faster", "equivalent", "different within margin", "undecided"):
        those = [cell for cell in cells if cell["finding"] == finding]
        if those:
            worst = _worst(finding, those, cells, comparison["margin"])
            findings.append(f"{len(those)} {finding}{worst}")
    if comparison["not_compared"]:
        findings.append(f"{len(comparison['not_compared'])} not compared")
    compared = f" of {len(cells)} cell(s): " if cells else ": "
    scope = f" {SAME_DAY};" if cells and comparison["scope"] == SAME_DAY else ""
    return (
        f"against {_against(comparison)}{compared}{', '.join(findings)};{scope}"
        f" {_changed_names(comparison)}"
    )


def _against(comparison: Mapping[str, Any]) -> str:
    """Return the baseline in few words."""
    campaigns = comparison["baselines"]
    if len(campaigns) == 1:
        return str(campaigns[0]["campaign"])
    return f"{len(campaigns)} campaigns of {len({one['day'] for one in campaigns})} day(s)"


def _worst(
    finding: str,
    those: Sequence[Mapping[str, Any]],
    cells: Sequence[Mapping[str, Any]],
    margin: float,
) -> str:
    if finding == "equivalent":
        return f" within {percent(margin)}"
    if finding not in ("slower", "faster"):
        return ""
    far = (min if finding == "slower" else max)(those, key=lambda cell: float(cell["ratio"]))
    change = f"{_label(far, cells)} {100 * (far['ratio'] - 1):+.1f} % {_interval(far)}"
    return f" ({change})" if len(those) == 1 else f" (most: {change})"
