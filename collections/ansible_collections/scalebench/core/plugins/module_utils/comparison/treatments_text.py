"""The comparison of variants in words: a section of the report and lines for the terminal."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

from ..layout.sections import Section, percent, quote, section, table
from ..records.cells import IDENTITY_KEYS, cell_key
from ..records.plans import Variant
from ..records.results import Results, TreatmentCell, Treatments

__all__ = ["treatment_lines", "treatment_sections"]


def treatment_sections(results: Results) -> List[Section]:
    """Return the section on the variants of a campaign; nothing where it compares none."""
    compared = results.get("treatments")
    if not compared:
        return []
    rows = [_row(cell, compared["cells"]) for cell in compared["cells"]]
    tables = [table("Each variant against the first, in the rounds that both have", rows)]
    lines = [
        f"{name}, {quote(variant)}: {_changes(changes)}"
        for name, variants in compared["variants"].items()
        for variant, changes in variants.items()
    ]
    notes = [{"title": "What the variants change", "lines": lines}] if lines else []
    title = "Variants in one campaign"
    return [section("treatments", title, _about(compared), tables, notes=notes)]


def _row(cell: TreatmentCell, every: Sequence[TreatmentCell]) -> Dict[str, Any]:
    return {
        "cell": _label(cell, every),
        "variant": cell["treatment"],
        "against": cell["against"],
        "its speed": cell["reference_speed"],
        "now": cell["speed"],
        "unit": cell["unit"],
        "rounds": cell["rounds"],
        "change %": None if cell["ratio"] is None else 100 * (cell["ratio"] - 1),
        "interval %": _interval(cell, "{} to {}") or None,
        "p": _p_value(cell["p_difference"]),
        "p of ranks": _p_value(cell["p_signed_rank"]),
        "finding": cell["finding"],
        "why": "; ".join(part for part in (cell["why"], _without(cell)) if part) or "-",
    }


def _p_value(p: Any) -> Any:
    if p is None:
        return "-"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _without(cell: TreatmentCell) -> str:
    count = len(cell["without_pair"])
    return f"{count} round(s) left out, in which one of the two gave no throughput" if count else ""


def _about(compared: Treatments) -> List[str]:
    level, margin = percent(compared["level"]), percent(compared["margin"])
    return [
        "The variants of a cell ran in turns: each round of repeats has all of them, in an order"
        f" drawn by lot (from the seed {compared['seed']}, which plan.json has).",
        "Change: from the difference of the logarithms of throughput within each round, with its"
        f" {level} interval by Student's t. A variant is slower or faster where a difference is"
        f" shown, all comparisons together at {percent(1 - compared['level'])} (Holm), from 8"
        " rounds on by the exact test of signed ranks (Wilcoxon), which single rounds far off"
        " hardly disturb, else by the t test;"
        f" equivalent where the ratio is shown to lie within {margin} of 1 (two"
        " one-sided tests at 5 %); different within margin where both are shown; undecided where"
        " neither is.",
        "What a day does to all variants alike is no part of the difference. It does not show"
        " whether the difference is the same on other nodes or days.",
    ]


def _changes(changes: Variant) -> str:
    """Return what a variant changes, in words: its label, then variables, arguments and image."""
    variables = [f"{name}={value}" for name, value in changes.get("environment", {}).items()]
    words = [*variables, *changes.get("arguments", [])]
    parts = [quote(changes["about"])] if "about" in changes else []
    parts += [quote(" ".join(words))] if words else []
    parts += [f"image {quote(changes['image'])}"] if "image" in changes else []
    return "; ".join(parts) or "nothing"


def _label(cell: TreatmentCell, every: Sequence[TreatmentCell]) -> str:
    """Name a cell by its topology and what else differs among those of its variant."""
    alike = [cell_key(one) for one in every if one["treatment"] == cell["treatment"]]
    own = cell_key(cell)
    return " ".join(
        getattr(own, name)
        for name in IDENTITY_KEYS
        if name == "topology" or len({getattr(one, name) for one in alike}) > 1
    )


def _interval(cell: TreatmentCell, form: str) -> str:
    """Return the bounds of the change in percent; empty for none."""
    if cell["low"] is None or cell["high"] is None:
        return ""
    return form.format(*(f"{100 * (bound - 1):+.2f}" for bound in (cell["low"], cell["high"])))


def treatment_lines(results: Results) -> List[str]:
    """Return a sentence for each variant of each cell against the first.

    :param results: with ``treatments``.
    """
    every = results["treatments"]["cells"]
    lines = []
    for cell in every:
        found = cell["finding"]
        if found == "equivalent":
            found += f" within {percent(results['treatments']['margin'])}"
        change = ""
        if cell["ratio"] is not None and cell["low"] is not None:
            change = f", {100 * (cell['ratio'] - 1):+.2f} % {_interval(cell, '[{}, {}]')}"
        lines.append(
            f"variant {cell['treatment']} against {cell['against']}, {_label(cell, every)}:"
            f" {found}{change} in {cell['rounds']} round(s)"
            + (f" ({cell['why']})" if found in ("slower", "faster") and cell["why"] else "")
        )
    return lines
