"""The verdict on every promised line by its interval, and on the whole."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..comparison.gate_figures import figure_bounds, figure_limit
from ..comparison.limits import selected
from ..layout.plain_text import plain
from ..planning.options import duration_seconds
from ..records.cells import cell_key
from ..records.endings import says_nothing
from ..records.results import MeasuredCell, Results
from ..results.drift import drift_of_cell
from ..results.scaling import base_cells
from ..running.elapsed import seconds_under_load
from ..stats.drift import LEVEL
from .promises import CELL_LINES, gaps, line_text, unlike

__all__ = ["ACCEPTED", "FAIL", "NOT_ACCEPTED", "PASS", "UNDECIDED", "judge_acceptance"]

PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"
ACCEPTED, NOT_ACCEPTED = "accepted", "not accepted"
# One-sided: the interval that is shown has 95 %.
_ALPHA = 0.025
# A detail that lists every cell, in characters.
_LONGEST = 20_000
# What a fingerprint has in place of a version that the node did not tell.
_NOT_RECORDED = (None, "", "unknown")
# Of the topology that they are relative to they are 1, whatever is measured.
_RATIOS = ("min_speedup", "min_efficiency")
Line = Mapping[str, Any]
# A row, and of a tested figure whether its interval of a level shows that the promise is missed.
Judged = Tuple[Dict[str, Any], Optional[Callable[[float], bool]]]


def judge_acceptance(results: Results, promises: Mapping[str, Any], file: str) -> Dict[str, Any]:
    """Return the verdicts as results.json holds them.

    A line passes if the promised value is shown to be reached, and fails if it is shown to be
    missed, at 2.5 % for all lines together (Bonferroni): a cluster that keeps every promise is
    rejected in at most 2.5 % of campaigns. It is accepted only if all lines pass, so that one that
    misses any is accepted in at most 2.5 %.

    A cell with a planned repeat that did not run, so that it cannot have failed, is undecided, and
    so is a campaign that is not the one that was stated.

    :param results: of ``build_results``, with ``preflight`` where there was one.
    :param promises: of ``promises.check_acceptance``.
    :param file: the acceptance, as the user named it.
    :returns: ``file``, ``about``, ``verdict`` and ``lines``: each ``line``, ``of`` (cell or node),
        ``measured``, ``low``, ``high`` (numbers, or None), ``verdict``, ``detail``.
    """
    judged = [one for line in promises["lines"] for one in _judged(results, line)]
    tested = [(row, missed) for row, missed in judged if missed]
    for row, missed in tested:
        if missed(1 - 2 * _ALPHA / len(tested)):
            row["verdict"] = FAIL
    rows = [row for row, _ in judged]
    options = results["provenance"].get("options") or {}
    for one in unlike(promises["campaign"], options, results["cells"]):
        stated: Line = {"metric": "campaign", "value": "", "where": {}}
        rows.append(_row(stated, "", UNDECIDED, one))
    words = {row["verdict"] for row in rows}
    verdict = NOT_ACCEPTED if FAIL in words else UNDECIDED if UNDECIDED in words else ACCEPTED
    return {"file": plain(file), "about": promises["about"], "verdict": verdict, "lines": rows}


def _judged(results: Results, line: Line) -> List[Judged]:
    if line["metric"] not in CELL_LINES:
        return [(row, None) for row in _OTHERS[line["metric"]](results, line)]
    cells: List[MeasuredCell] = selected(results["cells"], line)
    if not cells:
        return [(_row(line, "", UNDECIDED, "no measured cell is selected"), None)]
    if line["metric"] in _RATIOS:
        bases = base_cells(results["cells"]).values()
        others = [cell for cell in cells if cell not in bases]
        if not others:
            why = f"{cells[0]['topology']} is compared with itself"
            return [(_row(line, "", UNDECIDED, why), None)]
        cells = others
    return [_of_cell(results, line, cell) for cell in cells]


def _of_cell(results: Results, line: Line, cell: MeasuredCell) -> Judged:
    own = cell_key(cell)
    base = base_cells(results["cells"]).get(own.group) if line["metric"] in _RATIOS else None
    missing = [gaps(cell)]
    if base and gaps(base):
        missing.append(f"{base['topology']}: {gaps(base)}")
    if any(missing):
        return _row(line, own.short, UNDECIDED, "; ".join(filter(None, missing))), None
    judge = _drift if line["metric"] == "max_drift" else _figure
    return judge(results, line, cell)


def _row(
    line: Line,
    of: str,
    verdict: str,
    detail: str = "",
    figures: Sequence[Optional[float]] = (None, None, None),
) -> Dict[str, Any]:
    measured, low, high = (None if one is None else float(f"{one:.6g}") for one in figures)
    row = {"line": line_text(line), "of": plain(of), "measured": measured, "low": low, "high": high}
    return {**row, "verdict": verdict, "detail": plain(detail, _LONGEST)}


def _figure(results: Results, line: Line, cell: MeasuredCell) -> Judged:
    of, metric = cell_key(cell).short, line["metric"]
    if cell["state"] == "invalid":
        reasons = "; ".join(finding["detail"] for finding in cell["invalid"])
        return _row(line, of, UNDECIDED, f"the measurement is invalid: {reasons}"), None

    def bounds(level: float) -> Tuple[float, float, float]:
        return figure_bounds(cell, results["cells"], metric, level, line.get("day_sd", 0.0))

    try:
        promised, which = figure_limit(cell, metric, line["value"])
        figures = bounds(1 - 2 * _ALPHA)
    except ValueError as error:
        return _row(line, of, UNDECIDED, str(error)), None
    repeats = sum(repeat["throughput"] is not None for repeat in cell["repeats"])
    unit = f", {cell['unit']}" if metric == "min_throughput" and cell["unit"] else ""
    verdict = PASS if figures[1] >= promised else UNDECIDED
    detail = ", ".join(filter(None, (f"{repeats} repeats{unit}", which)))
    row = _row(line, of, verdict, detail, figures)

    def missed(level: float) -> bool:
        return bool(bounds(level)[2] < promised)

    return row, missed


def _drift(results: Results, line: Line, cell: MeasuredCell) -> Judged:
    found, of = drift_of_cell(cell), cell_key(cell).short
    if found is None:
        return _row(line, of, UNDECIDED, "too few repeats, or without a time"), None
    figures = (found.change, found.low, found.high)
    most = -line["value"]
    word = PASS if found.low >= most else UNDECIDED
    row = _row(line, of, word, f"{found.n} repeats, interval of {LEVEL:.0%}", figures)

    def missed(level: float) -> bool:
        again = drift_of_cell(cell, max(level, LEVEL))
        return again is not None and again.high < most

    return row, missed


def _faults(results: Results, line: Line) -> List[Dict[str, Any]]:
    """Judge that no repeat failed, nor an attempt that another one made up for."""
    repeats = [repeat for cell in results["cells"] for repeat in cell["repeats"]]
    attempts = [(repeat["log"], one) for repeat in repeats for one in repeat["earlier"]]
    attempts += [
        (left["log"], one)
        for cell in results["cells"]
        for left in cell["unfinished"]
        for one in left["earlier"]
    ]
    every = [(one["log"], one) for one in results["failures"]] + attempts
    faults = [
        f"{log}: {one['ending']}: {one['reason']}"
        for log, one in every
        if one["ending"] != "ok" and not says_nothing(one["ending"])
    ]
    hours = seconds_under_load(one for one in repeats if one["ending"] == "ok") / 3600
    wanted = duration_seconds(line["value"]) / 3600 if line["value"] else 0.0
    detail = f"{len(faults)} fault(s) in {hours:.3g} h under load"
    if faults:
        return [_row(line, "", FAIL, f"{detail}, the first: {faults[0]}", (hours, None, None))]
    missing = [f"{cell_key(cell).short}: {gaps(cell)}" for cell in results["cells"] if gaps(cell)]
    enough = hours >= wanted and hours > 0 and not missing
    detail = "; ".join([detail, *missing])
    return [_row(line, "", PASS if enough else UNDECIDED, detail, (hours, None, None))]


def _preflight(results: Results, line: Line) -> List[Dict[str, Any]]:
    preflight = results.get("preflight")
    found = preflight["verdict"] if preflight else "skip"
    allowed = ("pass", "warn") if line["value"] == "warn" else ("pass",)
    if found == "skip":
        return [_row(line, "", UNDECIDED, "the nodes were not examined")]
    detail = preflight["summary"] if preflight else ""
    return [_row(line, "", PASS if found in allowed else FAIL, detail)]


def _stack(results: Results, line: Line) -> List[Dict[str, Any]]:
    nodes = results["provenance"].get("nodes") or {}
    rows = []
    for name, glob in line["value"].items():
        own = {**line, "value": {name: glob}}
        found = {node: versions(facts, name) for node, facts in nodes.items()}
        wrong = [
            f"{node} has {value}"
            for node, values in found.items()
            for value in dict.fromkeys(values)
            if value is not None and not fnmatchcase(value, glob)
        ]
        unknown = [node for node, values in found.items() if None in values]
        if wrong:
            rows.append(_row(own, "", FAIL, "; ".join(wrong)))
        elif unknown or not found:
            whose = ", ".join(unknown) or "any node"
            rows.append(_row(own, "", UNDECIDED, f"not recorded of {whose}"))
        else:
            every = {str(value) for values in found.values() for value in values}
            rows.append(_row(own, "", PASS, ", ".join(sorted(every))))
    return rows


def versions(facts: Mapping[str, Any], name: str) -> List[Optional[str]]:
    """Return a version of ``promises.STACK`` of a node's fingerprint, of each GPU its own.

    None stands for one that is not recorded. Without nvidia-smi no GPU is listed, which is not the
    same as none: their number is not recorded then.
    """
    gpus = facts.get("gpus") or []
    if name == "gpus":
        return [str(len(gpus)) if gpus else None]
    key = "name" if name == "gpu" else name
    values = [gpu.get(key) for gpu in gpus] if name in ("driver", "gpu") else [facts.get(name)]
    return [None if value in _NOT_RECORDED else str(value) for value in values] or [None]


_OTHERS: Mapping[str, Callable[[Results, Line], List[Dict[str, Any]]]] = {
    "no_faults": _faults,
    "preflight": _preflight,
    "stack": _stack,
}
