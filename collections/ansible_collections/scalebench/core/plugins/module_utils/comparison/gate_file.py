"""The file of a gate: rules that a campaign must keep, checked before anything runs."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping

from ..records.cells import IDENTITY_KEYS

__all__ = ["METRICS", "check_gate", "selector_text"]

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
    """Return the cells that a rule holds for, ``precision amp, topology 4n*``; empty for all."""
    return ", ".join(f"{name} {glob}" for name, glob in rule["where"].items())
