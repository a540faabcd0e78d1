"""The section on cells that became slower or faster in a campaign of hours."""

from __future__ import annotations

from typing import Any, List, Mapping

from ..layout.sections import Section, section, table
from ..records.results import Results

__all__ = ["drift_sections"]


def drift_sections(results: Results) -> List[Section]:
    """Return the section; nothing of a campaign without ``-e duration=``."""
    found = results.get("drift")
    if not found:
        return []
    about = (
        "Change of the throughput from the first repeat to the last (Theil and Sen), with its"
        f" interval of {found['level']:.0%}; Kendall's test for a trend, with at most"
        f" {1 - found['level']:.0%} false alarms in the whole campaign where repeats are"
        f" independent. It takes {found['least']} repeats of a cell."
    )
    return [section("drift", "Drift", [about], [table("Cells", list(map(_row, found["cells"])))])]


def _row(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    decided = cell["change"] is not None
    verdict = {True: "drifts", False: "no drift shown", None: "too few repeats"}[cell["drifts"]]
    figures = (cell[key] * 100 if decided else None for key in ("change", "low", "high"))
    names = ("change %", "from %", "to %")
    return {"cell": cell["cell"], "repeats": cell["n"], **dict(zip(names, figures)), "": verdict}
