"""Rules of a gate on the change against a baseline."""

from __future__ import annotations

import math
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from ..records.cells import cell_key
from ..records.results import MeasuredCell
from ..stats.deficit import FOUND, NOT_FOUND, Deficit, deficit
from ..stats.log_ratio import LogRatio, above_p, below_p, holm
from .cell_figures import SAME_DAY, known_days
from .gate_outcomes import BROKEN, PASSED, UNDECIDED, Outcome

__all__ = ["deficit_outcomes", "margin_outcomes"]

Change = Mapping[str, Any]
_VERDICTS = {FOUND: BROKEN, NOT_FOUND: PASSED}


def margin_outcomes(
    comparison: Mapping[str, Any], cells: Sequence[MeasuredCell], limit: float, alpha: float
) -> List[Outcome]:
    """Return whether each cell is shown to be slower by more than a share, or by less.

    :param comparison: of ``compare_campaigns``.
    :param cells: those that the rule selects.
    :param alpha: of the test that a cell is slower by less, and of the tests that one is slower by
        more for all cells together (Holm).
    """
    pairs = _compared(comparison, cells)
    tested = [change for _, change, _ in pairs if change and change["low"] is not None]
    corrected = holm([below_p(_ratio(change), 1 - limit) for change in tested])
    slower = {cell_key(change): p <= alpha for change, p in zip(tested, corrected)}
    return [
        _of_margin(cell, change, why, slower.get(cell_key(cell), False), limit, alpha)
        for cell, change, why in pairs
    ]


def _compared(
    comparison: Mapping[str, Any], cells: Sequence[MeasuredCell]
) -> List[Tuple[MeasuredCell, Optional[Change], str]]:
    """Return each cell with its change, or why it is not compared."""
    changes = {cell_key(cell): cell for cell in comparison["cells"]}
    apart = {cell_key(cell): cell["reason"] for cell in comparison["not_compared"]}
    return [(cell, changes.get(cell_key(cell)), apart.get(cell_key(cell), "")) for cell in cells]


def _of_margin(
    cell: MeasuredCell,
    change: Optional[Change],
    why: str,
    slower: bool,
    limit: float,
    alpha: float,
) -> Outcome:
    name = cell_key(cell).short
    if change is None:
        return Outcome(UNDECIDED, f"{name} is not compared: {why}", no_data=True)
    if change["low"] is None:
        return Outcome(UNDECIDED, f"{name} is undecided: {change['why']}", no_data=True)
    text, margin = f"{name}: {_change(change)}", float(change["ratio"])
    if slower:
        return Outcome(BROKEN, text, margin)
    if above_p(_ratio(change), 1 - limit) <= alpha:
        return Outcome(PASSED, text, margin)
    open_end = f": the repeats do not show whether it is slower by more than {100 * limit:g} %"
    return Outcome(UNDECIDED, text + open_end, margin)


def _ratio(change: Change) -> LogRatio:
    return LogRatio(
        math.log(change["ratio"]), change["standard_error"], change["degrees_of_freedom"]
    )


def _change(change: Change) -> str:
    low, high = (100 * (change[bound] - 1) for bound in ("low", "high"))
    scope = f", {SAME_DAY}" if change.get("scope") == SAME_DAY else ""
    return f"{100 * (change['ratio'] - 1):+.1f} % [{low:+.1f}, {high:+.1f}]{scope}"


def deficit_outcomes(
    comparison: Mapping[str, Any],
    cells: Sequence[MeasuredCell],
    share: float,
    alpha: float,
    day: Optional[float] = None,
) -> List[Outcome]:
    """Return whether each cell has a deficit of a share, by ``stats.deficit``.

    :param comparison: of ``compare_campaigns``.
    :param cells: those that the rule selects.
    :param alpha: for all cells together (Bonferroni).
    :param day: standard deviation of the days as a share, None to estimate it.
    """
    each = alpha / max(1, len(cells))
    outcomes = []
    for cell, change, why in _compared(comparison, cells):
        name = cell_key(cell).short
        if change is None:
            outcomes.append(Outcome(UNDECIDED, f"{name} is not compared: {why}", no_data=True))
            continue
        days, earlier = known_days(change)
        found = deficit(change["speeds"], days, share, each, day, earlier)
        outcomes.append(_of_deficit(cell, found))
    return outcomes


def _of_deficit(cell: MeasuredCell, found: Deficit) -> Outcome:
    numbers = [one["repeat"] for one in cell["repeats"] if one["throughput"] is not None]
    verdict = _VERDICTS.get(found.verdict, UNDECIDED)
    notes = [found.reason]
    if found.same_day and verdict != UNDECIDED:
        notes.append("same day only: a baseline of one day does not show how days differ")
    change = "" if found.change is None else f" {100 * found.change:+.2f} %"
    name = cell_key(cell).short
    text = f"{name}:{change}"
    said = "; ".join(note for note in notes if note)
    text += f" ({said})" if change and said else f" {said}" if said else ""
    # Without a change nothing was tested: too few repeats, or runs that are not one population.
    untested = verdict == UNDECIDED and found.change is None
    return Outcome(verdict, text, found.change or 0.0, untested, _cut(name, found, numbers))


def _cut(name: str, found: Deficit, numbers: Sequence[int]) -> str:
    """Return which runs of a cell lie apart; empty for none."""
    if not any(found.cut):
        return ""
    ours = ", ".join(str(numbers[run - 1]) for run in found.cut[0])
    theirs = sum(map(len, found.cut[1:]))
    parts = [f"repeat {ours} here" if ours else "", f"{theirs} of other days" if theirs else ""]
    what = "not judged, outliers" if found.change is None else "cut as outliers"
    return f"{what} in {name}: {' and '.join(filter(None, parts))}"
