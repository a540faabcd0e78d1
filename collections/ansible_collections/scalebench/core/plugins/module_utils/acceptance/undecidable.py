"""Lines of an acceptance that a planned campaign cannot decide, whatever it measures."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

from ..comparison.limits import selected
from ..planning.options import duration_seconds
from ..records.cells import cell_key
from ..results.scaling import base_cells, base_topology
from ..stats.drift import LEAST
from .judge import versions
from .promises import CELL_LINES, line_text

__all__ = ["undecidable"]

Cells = Sequence[Mapping[str, Any]]
Nodes = Mapping[str, Mapping[str, Any]]


def undecidable(
    promises: Mapping[str, Any], cells: Cells, nodes: Nodes, seconds: float, preflight: bool
) -> List[str]:
    """Return a sentence for each line that stays undecided.

    :param cells: planned, those that cannot run here with ``unavailable``, the reason.
    :param nodes: fingerprints by name.
    :param seconds: for how long repeats are expected to run.
    :param preflight: whether the nodes are examined.
    """
    lasting = "duration" in promises["campaign"]
    sentences = []
    for line in promises["lines"]:
        if line["metric"] in CELL_LINES:
            why = _of_cells(line, cells, lasting)
        else:
            why = _of_others(line, nodes, seconds, preflight)
        if why:
            sentences.append(f"{line_text(line)}: {why}")
    return sentences


def _of_cells(line: Mapping[str, Any], cells: Cells, lasting: bool) -> Optional[str]:
    chosen = selected(cells, line)
    if not chosen:
        return "no cell of the campaign is selected; do the nodes allow its topology?"
    for cell in chosen:
        if cell.get("unavailable"):
            return f"{cell_key(cell).short} cannot run: {cell['unavailable']}"
    least = min(cell["repeats"] for cell in chosen)
    if line["metric"] == "max_drift" and least < LEAST and not lasting:
        return f"{least} repeat(s), and a drift takes {LEAST}, or -e duration"
    if least < 2 and not lasting:
        return "one repeat has no interval"
    if line["metric"] in ("min_speedup", "min_efficiency"):
        return _without_base(chosen, cells)
    return None


def _without_base(chosen: Cells, cells: Cells) -> Optional[str]:
    bases = base_cells(cells)
    if all(cell in bases.values() for cell in chosen):
        return f"{chosen[0]['topology']} is compared with itself"
    alone = [cell for cell in chosen if cell_key(cell).group not in bases]
    if not alone:
        return None
    return f"{cell_key(alone[0]).short} has no {base_topology(alone)} to be compared with"


def _of_others(
    line: Mapping[str, Any], nodes: Nodes, seconds: float, preflight: bool
) -> Optional[str]:
    metric, value = line["metric"], line["value"]
    if metric == "preflight" and not preflight:
        return "the preflight is turned off"
    if metric == "no_faults" and value and seconds and seconds < duration_seconds(value):
        return f"repeats run for about {seconds / 3600:.2g} h; set duration: {value}"
    if metric == "stack":
        missing = [
            f"{name} of {node}"
            for name in value
            for node, facts in nodes.items()
            if None in versions(facts, name)
        ]
        return f"not recorded: {', '.join(missing)}" if missing else None
    return None
