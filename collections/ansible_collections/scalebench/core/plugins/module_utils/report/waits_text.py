"""The section on ranks that wait for another one at the exchange of gradients."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional

from ..layout.groups import named_cells
from ..layout.sections import Section, filled, section, table, unquoted
from ..records.results import Repeat, Results
from ..results.stragglers import LEAST_SHARE, LEVEL, waited_for
from ..stats.statistics import median

__all__ = ["waits_sections"]

# Of a campaign with hundreds of ranks; results.json has all of them.
_MOST_ROWS = 200


def waits_sections(results: Results) -> List[Section]:
    """Return the section, nothing where no trainer measured waits."""
    measured = [
        (f"{label} {cell['topology']}", repeat)
        for label, cell in named_cells(results)
        for repeat in cell["repeats"]
        if len(repeat.get("waits") or ()) > 1
    ]
    if not measured:
        return []
    about = (
        "From the end of a rank's own backward pass to that of the exchange of gradients. All leave"
        " it together, so the rank that waits least reached it last. It is named where that is no"
        f" chance (at most {LEVEL:.0%} of repeats of equal ranks that are late at random in each"
        f" interval) and is at least {LEAST_SHARE:.0%} of a step. Input is what a rank waits for"
        " its batch, no core how long it is ready to run while others have the cores, both on"
        " average."
    )
    rows = [row for cell, repeat in measured for row in _rows(cell, repeat)]
    sentences = [_sentence(cell, repeat) for cell, repeat in measured]
    if len(rows) > _MOST_ROWS:
        sentences.append(f"The first {_MOST_ROWS} of {len(rows)} ranks; results.json has them all.")
    tables = [table("Waits of the ranks", rows[:_MOST_ROWS], filled(rows))]
    return [section("waits", "Waits", [about], tables, sentences)]


def _sentence(cell: str, repeat: Repeat) -> str:
    found = waited_for(repeat["waits"])
    where = f"{unquoted(cell)}, repeat {repeat['repeat']}"
    if found is None:
        return f"{where}: no rank stands out."
    who = "the ranks" if found["rank"] is None else f"rank {found['rank']}"
    return (
        f"{where}: the others wait for {who} on {unquoted(found['node'])} since step"
        f" {found['since']}, {found['seconds'] * 1000:.1f} ms of a step ({found['share']:.0%})."
    )


def _rows(cell: str, repeat: Repeat) -> Iterator[Dict[str, Any]]:
    for rank in repeat["waits"]:
        waits = rank["wait_seconds"]
        yield {
            **{"cell": cell, "repeat": repeat["repeat"], "rank": rank["rank"]},
            **{"node": rank["node"], "wait, ms": _ms(median(waits) if waits else None)},
            "input, ms": _ms(rank.get("input_seconds")),
            "no core, ms": _ms(rank.get("core_wait_seconds")),
            "step, ms": _ms(rank["step_seconds"]),
        }


def _ms(seconds: Optional[float]) -> Optional[float]:
    return None if seconds is None else seconds * 1000
