"""A gate: rules that a campaign must keep; checks of its file and of results against its rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ..records.results import MeasuredCell, Results
from ..results.cells import repeats_without_speed
from .gate_changes import deficit_outcomes, margin_outcomes
from .gate_figures import figure_outcomes
from .gate_outcomes import BROKEN, PASSED, Outcome, joined
from .limits import (
    Limit,
    checked_day,
    checked_value,
    checked_where,
    is_number,
    selected,
    selector_text,
    value_text,
)

__all__ = ["METRICS", "Metric", "check_gate", "judge_gate", "rule_text"]

Rule = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """What a rule limits: its test, and what its value may be.

    ``judge``: the outcomes of the selected cells. ``alpha``: error rate of the test where the rule
    states none; None for no test. ``undecided``: what an undecided rule does where it does not say
    so; None for pass, and fail where there are no data.
    """

    limit: Limit
    judge: Callable[[Results, Sequence[MeasuredCell], Rule], List[Outcome]]
    alpha: Optional[float] = None
    baseline: bool = False
    undecided: Optional[str] = None


def _figure(results: Results, cells: Sequence[MeasuredCell], rule: Rule) -> List[Outcome]:
    metric, day = rule["metric"], rule.get("day_sd", 0.0)
    return figure_outcomes(results, cells, metric, rule["value"], _alpha(rule), day)


def _margin(results: Results, cells: Sequence[MeasuredCell], rule: Rule) -> List[Outcome]:
    return margin_outcomes(results["comparison"], cells, rule["value"], _alpha(rule))


def _deficit(results: Results, cells: Sequence[MeasuredCell], rule: Rule) -> List[Outcome]:
    comparison, day = results["comparison"], rule.get("day_sd")
    return deficit_outcomes(comparison, cells, rule["value"], _alpha(rule), day)


def _count(results: Results, cells: Sequence[MeasuredCell], rule: Rule) -> List[Outcome]:
    if not cells:
        return []
    failures = _failures(results, rule)
    said = f"{len(failures)} repeat(s) failed"
    if len(failures) > rule["value"]:
        return [Outcome(BROKEN, f"{said}, the first is {failures[0]['log']}")]
    return [Outcome(PASSED, said)]


# One-sided, so that for one cell it is an end of the 95 % interval that the report shows.
_ALPHA = 0.025
_OF_BASELINE = "a share of the baseline's throughput"
METRICS: Mapping[str, Metric] = {
    "max_regression": Metric(
        Limit(f"{_OF_BASELINE}, 0.03 for 3 %", 1), _margin, _ALPHA, baseline=True
    ),
    "non_inferior": Metric(
        Limit(f"{_OF_BASELINE}, 0.02 for 2 %", 1, above=True),
        *(_margin, _ALPHA, True),
        # It asks for proof.
        undecided="fail",
    ),
    "deficit": Metric(
        Limit(f"{_OF_BASELINE}, 0.01 for 1 %", 1, above=True), _deficit, 0.01, baseline=True
    ),
    "min_efficiency": Metric(
        Limit("a share of ideal scaling, 0.8 for 80 %", 1, closed=True), _figure, _ALPHA
    ),
    "min_throughput": Metric(Limit("in the unit of the cell, as tokens/s"), _figure, _ALPHA),
    "min_busbw": Metric(Limit("MB/s by fabric and size", by_fabric=True), _figure, _ALPHA),
    "min_speedup": Metric(Limit("a ratio to 1n1g, or the base of strong scaling"), _figure, _ALPHA),
    "max_cv": Metric(Limit("a share of the mean, 0.02 for 2 %", 1, closed=True), _figure, _ALPHA),
    "allowed_failures": Metric(Limit("a whole number of repeats", whole=True), _count),
}


def check_gate(content: Any, with_baseline: bool) -> List[Dict[str, Any]]:
    """Return the rules of a gate file: ``metric``, ``value``, ``where`` (globs by name), options.

    :param content: what the YAML file holds: ``rules``, a list, each of one metric and its value,
        ``where`` with any of _SELECTORS, and any of ``alpha``, ``undecided`` and ``day_sd``.
    :param with_baseline: whether there is a baseline, which some metrics need.
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
    for rule in rules:
        if METRICS[rule["metric"]].baseline and not with_baseline:
            raise ValueError(f"{rule['metric']} needs something to compare with: give -e baseline=")
    return rules


def _rule(rule: Any) -> Dict[str, Any]:
    if not isinstance(rule, Mapping):
        raise ValueError(f"{rule!r:.80} is not a mapping from a metric to its value")
    metrics = [str(key) for key in rule if key not in ("where", *_OPTIONS)]
    for metric in metrics:
        if metric not in METRICS:
            raise ValueError(
                f"there is no rule {metric!r:.80}; the choices are {', '.join(METRICS)}, and beside"
                f" one of them where, {', '.join(_OPTIONS)}"
            )
    if len(metrics) != 1:
        raise ValueError(f"one metric a rule, not {', '.join(metrics) or 'none':.80}")
    (metric,) = metrics
    options = {name: _OPTIONS[name](metric, rule[name]) for name in _OPTIONS if name in rule}
    return {
        "metric": metric,
        "value": checked_value(metric, METRICS[metric].limit, rule[metric]),
        "where": checked_where(rule.get("where", {})),
        **options,
    }


def _checked_alpha(metric: str, value: Any) -> float:
    if METRICS[metric].alpha is None:
        raise ValueError(f"alpha: {metric} counts, it tests nothing")
    if not is_number(value) or not 0 < value < 0.5:
        raise ValueError(f"alpha: {value!r:.80} is not a share above 0 and below 0.5, e.g. 0.01")
    return float(value)


def _checked_policy(_: str, value: Any) -> str:
    if value not in ("pass", "fail"):
        raise ValueError(f"undecided: {value!r:.80} is neither pass nor fail")
    return str(value)


def _checked_day_of(metric: str, value: Any) -> float:
    if metric not in ("deficit", "min_throughput"):
        raise ValueError(f"day_sd: only deficit and min_throughput take it, not {metric}")
    return checked_day(value)


# What may stand in a rule beside its metric and where.
_OPTIONS: Mapping[str, Callable[[str, Any], Any]] = {
    "alpha": _checked_alpha,
    "undecided": _checked_policy,
    "day_sd": _checked_day_of,
}


def rule_text(rule: Rule) -> str:
    """Return the metric, its value and the options stated, ``deficit: 0.01, alpha 0.05``."""
    options = [f"{name} {rule[name]}" for name in _OPTIONS if name in rule]
    return ", ".join([f"{rule['metric']}: {value_text(rule['value'])}", *options])


def _alpha(rule: Rule) -> float:
    return float(rule.get("alpha") or METRICS[rule["metric"]].alpha or _ALPHA)


def judge_gate(results: Results, rules: Sequence[Rule], file: str) -> Dict[str, Any]:
    """Return the verdict on each rule as results.json holds it.

    A rule is broken by a cell that is shown not to keep it, and passed where every cell is shown
    to; else it is undecided. An undecided rule fails the gate where a cell has no data (no figure,
    one repeat, not compared, no cell is selected), and passes it where noise leaves it open,
    unless the rule or its metric says otherwise.

    :param results: of ``build_results``, with ``comparison`` where a rule needs it.
    :param rules: of :func:`check_gate`.
    :param file: the gate, as the user named it.
    :returns: ``file``; ``rules``, each with ``rule``, ``selector``, ``verdict`` (passed, broken,
        undecided), ``ok`` (whether it lets the gate pass) and ``detail``; ``ok``; ``failures``,
        those of the results that no rule allowed_failures counts.
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
    metric = METRICS[rule["metric"]]
    outcomes = metric.judge(results, selected(results["cells"], rule), rule)
    return {
        "rule": rule_text(rule),
        "selector": selector_text(rule),
        **joined(outcomes, rule.get("undecided") or metric.undecided),
    }


def _failures(results: Results, rule: Rule) -> List[Mapping[str, Any]]:
    """Return the failures that the rule counts; without a selector also those of no cell."""
    logs = {
        entry["log"]
        for cell in selected(results["cells"], rule)
        for entry in repeats_without_speed(cell)
    }
    return [entry for entry in results["failures"] if not rule["where"] or entry["log"] in logs]
