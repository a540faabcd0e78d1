"""A gate: rules that a campaign must keep; checks of its file and of results against its rules."""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..records.cells import IDENTITY_KEYS, cell_key
from ..records.results import MeasuredCell, Results
from ..results.cells import deciding_figures, repeats_without_speed
from ..stats.log_ratio import LogRatio, below_p, holm

__all__ = ["METRICS", "check_gate", "judge_gate", "selector_text"]

Rule = Mapping[str, Any]
# One-sided, so that for one cell it is the upper end of the 95 % interval that the report shows.
_ALPHA = 0.025
# What a rule limits, and the meaning of its value.
METRICS: Mapping[str, str] = {
    "max_regression": "a share of the baseline's throughput, 0.03 for 3 %",
    "min_efficiency": "a share of ideal scaling, 0.8 for 80 %",
    "min_throughput": "in the unit of the cell, mostly images/s",
    "min_speedup": "a ratio to 1n1g",
    "max_cv": "a share of the mean, 0.02 for 2 %",
    "allowed_failures": "a whole number of repeats",
}
_SHARES = ("max_regression", "min_efficiency", "max_cv")


def check_gate(content: Any, with_baseline: bool) -> List[Dict[str, Any]]:
    """Return the rules of a gate file: ``metric``, ``value``, ``where`` (globs by name).

    :param content: what the YAML file holds: ``rules``, a list, each of one metric and its value,
        and ``where`` with any of IDENTITY_KEYS.
    :param with_baseline: whether there is a baseline, which max_regression needs.
    :raises ValueError: the number of the rule and what is wrong in it.
    """
    if not isinstance(content, Mapping) or set(content) != {"rules"}:
        raise ValueError("a gate is a mapping with one key, rules")
    if not isinstance(content["rules"], list) or not content["rules"]:
        raise ValueError("rules: a list with at least one rule is needed")
    rules = []
    for number, rule in enumerate(content["rules"], 1):
        try:
            rules.append(_rule(rule))
        except ValueError as error:
            raise ValueError(f"rule {number}: {error}") from None
    if not with_baseline and any(rule["metric"] == "max_regression" for rule in rules):
        raise ValueError("max_regression needs something to compare with: give -e baseline=")
    return rules


def _rule(rule: Any) -> Dict[str, Any]:
    if not isinstance(rule, Mapping):
        raise ValueError(f"{rule!r} is not a mapping from a metric to its value")
    metrics = [str(key) for key in rule if key != "where"]
    for metric in metrics:
        if metric not in METRICS:
            raise ValueError(f"there is no rule {metric!r}; the choices are {', '.join(METRICS)}")
    if len(metrics) != 1:
        raise ValueError(f"one metric a rule, not {', '.join(metrics) or 'none'}")
    (metric,) = metrics
    return {
        "metric": metric,
        "value": _value(metric, rule[metric]),
        "where": _where(rule.get("where", {})),
    }


def _value(metric: str, value: Any) -> Any:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0:
        raise ValueError(f"{metric}: {value!r} is not a number of 0 or more: {METRICS[metric]}")
    if (metric in _SHARES and value > 1) or (metric == "max_regression" and value == 1):
        raise ValueError(f"{metric}: {value!r} is not a share: {METRICS[metric]}")
    if metric == "allowed_failures" and int(value) != value:
        raise ValueError(f"{metric}: {value!r} is not a whole number")
    return value


def _where(where: Any) -> Dict[str, str]:
    if not isinstance(where, Mapping):
        raise ValueError(
            f"where: {where!r} is not a mapping; its keys are {', '.join(IDENTITY_KEYS)}"
        )
    for name, glob in where.items():
        if name not in IDENTITY_KEYS:
            raise ValueError(
                f"where: there is no {name!r}; the choices are {', '.join(IDENTITY_KEYS)}"
            )
        if not isinstance(glob, str) or not glob:
            raise ValueError(f"where: {name}: {glob!r} is not a text, as '4n*' or amp")
    return dict(where)


def selector_text(rule: Mapping[str, Any]) -> str:
    """Return the cells that a rule holds for, ``model r50, topology 4n*``; empty for all."""
    return ", ".join(f"{name} {glob}" for name, glob in rule["where"].items())


def judge_gate(results: Results, rules: Sequence[Rule], file: str) -> Dict[str, Any]:
    """Return the verdict on each rule as results.json holds it.

    A rule is broken by a cell that does not keep it, by one without the figure, and if it selects
    no cell. ``max_regression`` is broken by a cell that is shown to be slower by more:
    without any such cell at most 2.5 % of campaigns break it by noise (one-sided tests, Holm).

    :param results: of ``build_results``, with ``comparison`` where a rule needs it.
    :param rules: of :func:`check_gate`.
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


def _judged(results: Results, rule: Rule) -> Dict[str, Any]:
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


def _selected(cell: MeasuredCell, rule: Rule) -> bool:
    return all(fnmatchcase(str(cell.get(name)), glob) for name, glob in rule["where"].items())


def _failures(results: Results, rule: Rule) -> List[Mapping[str, Any]]:
    """Return the failures that the rule counts; without a selector also those of no cell."""
    logs = {
        entry["log"]
        for cell in results["cells"]
        if _selected(cell, rule)
        for entry in repeats_without_speed(cell)
    }
    return [entry for entry in results["failures"] if not rule["where"] or entry["log"] in logs]


def _cv(cell: MeasuredCell) -> Optional[float]:
    cv: Optional[float] = cell["spread"]["cv"] if cell["spread"] else None
    return cv


_FIGURES: Mapping[str, Tuple[str, Callable[[MeasuredCell], Optional[float]]]] = {
    "min_efficiency": ("efficiency", lambda cell: deciding_figures(cell).get("efficiency")),
    "min_throughput": ("throughput", lambda cell: deciding_figures(cell).get("median_speed")),
    "min_speedup": ("speed-up", lambda cell: deciding_figures(cell).get("speedup")),
    "max_cv": ("cv", _cv),
}


def _figures(cells: Sequence[MeasuredCell], metric: str, limit: float) -> Tuple[List[str], str]:
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


def _missing(cell: MeasuredCell, metric: str) -> str:
    if metric == "max_cv" and cell["spread"]:
        return "one repeat only"
    if metric in ("min_efficiency", "min_speedup") and cell["speedup_reason"]:
        return str(cell["speedup_reason"])
    return "no repeat gave a speed"


def _regressions(
    comparison: Mapping[str, Any], cells: Sequence[MeasuredCell], limit: float
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


def _ratio(change: Mapping[str, Any]) -> LogRatio:
    return LogRatio(
        math.log(change["ratio"]), change["standard_error"], change["degrees_of_freedom"]
    )


def _change(change: Mapping[str, Any]) -> str:
    low, high = (100 * (change[bound] - 1) for bound in ("low", "high"))
    return f"{100 * (change['ratio'] - 1):+.1f} % [{low:+.1f}, {high:+.1f}]"
