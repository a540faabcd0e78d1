"""Check the results of a campaign against the rules of a gate: which are broken, by what."""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..records.cells import cell_key
from ..stats.log_ratio import LogRatio, below_p, holm
from .gate_file import selector_text

__all__ = ["judge_gate"]

Cell = Mapping[str, Any]
Rule = Mapping[str, Any]
# One-sided, so that for one cell it is the upper end of the 95 % interval that the report shows.
_ALPHA = 0.025


def judge_gate(results: Mapping[str, Any], rules: Sequence[Rule], file: str) -> Dict[str, Any]:
    """Return the verdict on each rule as results.json holds it.

    A rule is broken by a cell that does not keep it, by one without the figure, and if it selects
    no cell. ``max_regression`` is broken by a cell that is shown to be slower by more:
    without any such cell at most 2.5 % of campaigns break it by noise (one-sided tests, Holm).

    :param results: of ``build_results``, with ``comparison`` where a rule needs it.
    :param rules: of ``gate_file.check_gate``.
    :param file: the gate, as the user named it.
    :returns: ``file``; ``rules``, each with ``rule``, ``selector``, ``ok`` and ``detail``; ``ok``;
        ``failures``, those of the results that no rule allowed_failures counts.
    """
    counted = {
        failure["log"]
        for rule in rules
        if rule["metric"] == "allowed_failures"
        for failure in _failures(results, rule)
    }
    judged = [_judged(results, rule) for rule in rules]
    return {
        "file": file,
        "ok": all(rule["ok"] for rule in judged),
        "rules": judged,
        "failures": [entry for entry in results["failures"] if entry["log"] not in counted],
    }


def _judged(results: Mapping[str, Any], rule: Rule) -> Dict[str, Any]:
    metric, value = rule["metric"], rule["value"]
    cells = [cell for cell in results["cells"] if _selected(cell, rule)]
    if not cells:
        broken, kept = ["no cell is selected"], ""
    elif metric == "allowed_failures":
        failures = _failures(results, rule)
        kept = f"{len(failures)} repeat(s) failed"
        broken = [f"{kept}, the first is {failures[0]['log']}"] if len(failures) > value else []
    elif metric == "max_regression":
        broken, kept = _regressions(results["comparison"], cells, value)
    else:
        broken, kept = _figures(cells, metric, value)
    return {
        "rule": f"{metric}: {value:g}",
        "selector": selector_text(rule),
        "ok": not broken,
        "detail": "; ".join(broken) if broken else kept,
    }


def _selected(cell: Cell, rule: Rule) -> bool:
    return all(fnmatchcase(str(cell.get(name)), glob) for name, glob in rule["where"].items())


def _failures(results: Mapping[str, Any], rule: Rule) -> List[Mapping[str, Any]]:
    """Return the failures that the rule counts; without a selector also those of no cell."""
    logs = {
        entry["log"]
        for cell in results["cells"]
        if _selected(cell, rule)
        for entry in (*cell["failures"], *cell["unavailable"])
    }
    return [entry for entry in results["failures"] if not rule["where"] or entry["log"] in logs]


def _cv(cell: Cell) -> Optional[float]:
    cv: Optional[float] = cell["spread"]["cv"] if cell["spread"] else None
    return cv


_FIGURES: Mapping[str, Tuple[str, Callable[[Cell], Optional[float]]]] = {
    "min_efficiency": ("efficiency", lambda cell: cell["efficiency"]),
    "min_throughput": ("throughput", lambda cell: cell["median_speed"]),
    "min_speedup": ("speed-up", lambda cell: cell["speedup"]),
    "max_cv": ("cv", _cv),
}


def _figures(cells: Sequence[Cell], metric: str, limit: float) -> Tuple[List[str], str]:
    """Return what breaks a limit of a figure, and the worst figure that keeps it."""
    what, figure_of = _FIGURES[metric]
    least = metric.startswith("min_")
    broken, kept = [], []
    for cell in cells:
        figure = figure_of(cell)
        if figure is None:
            broken.append(f"{cell_key(cell).short} has no {what}: {_missing(cell, metric)}")
        elif figure < limit if least else figure > limit:
            broken.append(f"{cell_key(cell).short}: {what} {figure:.4g}")
        else:
            kept.append(
                (figure if least else -figure, f"{cell_key(cell).short}: {what} {figure:.4g}")
            )
    return broken, f"{len(kept)} cell(s), worst {min(kept)[1]}" if kept else ""


def _missing(cell: Cell, metric: str) -> str:
    if metric == "max_cv" and cell["spread"]:
        return "one repeat only"
    if metric in ("min_efficiency", "min_speedup") and cell["speedup_reason"]:
        return str(cell["speedup_reason"])
    return "no repeat gave a speed"


def _regressions(
    comparison: Mapping[str, Any], cells: Sequence[Cell], limit: float
) -> Tuple[List[str], str]:
    """Return the cells that are shown to be slower by more than the limit, or not compared."""
    compared = {cell_key(cell): cell for cell in comparison["cells"]}
    apart = {cell_key(cell): cell["reason"] for cell in comparison["not_compared"]}
    broken, tested = [], []
    for cell in cells:
        change = compared.get(cell_key(cell))
        if change is None:
            broken.append(f"{cell_key(cell).short} is not compared: {apart[cell_key(cell)]}")
        elif change["low"] is None:
            broken.append(f"{cell_key(cell).short} is undecided: {change['why']}")
        else:
            tested.append(change)
    p_values = holm([below_p(_ratio(change), 1 - limit) for change in tested])
    broken += [
        f"{cell_key(change).short}: {_change(change)}"
        for change, p_value in zip(tested, p_values)
        if p_value <= _ALPHA
    ]
    worst = min(tested, key=lambda change: float(change["ratio"]), default=None)
    if worst is None:
        return broken, ""
    return broken, f"{len(tested)} cell(s), worst {cell_key(worst).short}: {_change(worst)}"


def _ratio(change: Cell) -> LogRatio:
    return LogRatio(
        math.log(change["ratio"]), change["standard_error"], change["degrees_of_freedom"]
    )


def _change(change: Cell) -> str:
    low, high = (100 * (change[bound] - 1) for bound in ("low", "high"))
    return f"{100 * (change['ratio'] - 1):+.1f} % [{low:+.1f}, {high:+.1f}]"
