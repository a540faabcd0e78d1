"""What a rule of a gate says about one cell: passed, broken, or undecided with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

__all__ = ["BROKEN", "PASSED", "UNDECIDED", "VERDICTS", "Outcome", "by_interval", "joined"]

VERDICTS = PASSED, BROKEN, UNDECIDED = "passed", "broken", "undecided"


@dataclass(frozen=True)
class Outcome:
    """The verdict on a cell, ``text`` with its name and figure, or the reason.

    ``margin`` is smaller for a worse cell; None where the outcome is of all cells. ``no_data``: it
    is undecided because nothing could be tested, not because of noise. ``note`` is shown whatever
    the verdicts on this cell and the others are.
    """

    verdict: str
    text: str
    margin: Optional[float] = None
    no_data: bool = False
    note: str = ""


def by_interval(
    low: float, high: float, limit: float, least: bool, low_all: float, high_all: float
) -> str:
    """Return the verdict on a figure with an interval.

    :param least: whether the limit is the least value, not the largest.
    :param low_all: bound of the interval that holds for all cells of the rule together, as
        ``high_all``; a cell breaks its rule where that lies beyond the limit.
    """
    if least:
        return PASSED if low >= limit else BROKEN if high_all < limit else UNDECIDED
    return PASSED if high <= limit else BROKEN if low_all > limit else UNDECIDED


def joined(outcomes: Sequence[Outcome], policy: Optional[str]) -> Dict[str, Any]:
    """Return the verdict on all cells of a rule, with the notes on each.

    :param outcomes: of its cells; none if it selects no cell.
    :param policy: ``pass`` or ``fail``, what an undecided rule does; None for fail where there is
        no data, pass where there is.
    :returns: ``verdict``, ``ok`` (whether the gate may be passed) and ``detail``.
    """
    if not outcomes:
        outcomes = [Outcome(UNDECIDED, "no cell is selected", no_data=True)]
    verdict, ok, detail = _verdict(outcomes, policy)
    notes = [outcome.note for outcome in outcomes if outcome.note]
    return {"verdict": verdict, "ok": ok, "detail": "; ".join([detail, *notes])}


def _verdict(outcomes: Sequence[Outcome], policy: Optional[str]) -> Tuple[str, bool, str]:
    texts: Dict[str, List[str]] = {PASSED: [], BROKEN: [], UNDECIDED: []}
    for outcome in outcomes:
        texts[outcome.verdict].append(outcome.text)
    if texts[BROKEN]:
        return BROKEN, False, "; ".join(texts[BROKEN])
    if texts[UNDECIDED]:
        fails = any(outcome.no_data for outcome in outcomes) if policy is None else policy == "fail"
        return UNDECIDED, not fails, "; ".join(texts[UNDECIDED])
    ranked = [one for one in outcomes if one.margin is not None]
    worst = min(ranked, key=lambda one: one.margin or 0.0, default=None)
    detail = f"{len(outcomes)} cell(s), worst {worst.text}" if worst else "; ".join(texts[PASSED])
    return PASSED, True, detail
