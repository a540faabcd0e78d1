"""The verdict of a gate in words: a section of the report and lines for the terminal."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence

from ..layout.sections import Section, section, table
from ..records.results import Results
from .gate_outcomes import BROKEN, PASSED, UNDECIDED
from .gate_rules import rule_text
from .limits import selector_text

__all__ = [
    "broken_rules",
    "gate_failed",
    "gate_line",
    "gate_sections",
    "rule_lines",
    "rule_verdict",
    "undecided_rules",
    "unshown_rules",
]


def gate_sections(results: Results) -> List[Section]:
    """Return the section on the gate; nothing where no gate was applied."""
    gate = results.get("gate")
    if not gate:
        return []
    rows = [
        {
            "rule": rule["rule"],
            "cells": rule["selector"] or "all",
            "verdict": rule_verdict(rule),
            "gate": "passed" if rule["ok"] else "failed",
            "detail": rule["detail"],
        }
        for rule in gate["rules"]
    ]
    return [
        section(
            "gate", "Gate", [f"{gate_line(results)}."], [table("Rules", rows, whole=("detail",))]
        )
    ]


def gate_line(results: Results) -> str:
    """Return the verdict of a gate in one sentence.

    :param results: with ``gate``.
    """
    gate = results["gate"]
    verdicts = [rule_verdict(rule) for rule in gate["rules"]]
    counts = [f"{verdicts.count(one)} {one}" for one in (BROKEN, UNDECIDED) if one in verdicts]
    verdict = f"{' and '.join(counts)} of {len(verdicts)} rule(s)"
    if not counts:
        verdict = f"all {len(verdicts)} rule(s) passed"
    left = len(gate["failures"])
    failed = f"; {left} failed repeat(s) that no rule allows" if left else ""
    return f"gate {gate['file']}: {verdict}{failed}"


def gate_failed(results: Results) -> bool:
    """Return whether a gate fails, by a rule or by a failed repeat that no rule allows."""
    gate = results.get("gate")
    return gate is not None and not (gate["ok"] and not gate["failures"])


def broken_rules(results: Results) -> List[str]:
    """Return a line for each broken rule; none without a gate."""
    return _lines(results, BROKEN, ok=False)


def unshown_rules(results: Results) -> List[str]:
    """Return a line for each undecided rule that fails its gate; none without a gate."""
    return _lines(results, UNDECIDED, ok=False)


def undecided_rules(results: Results) -> List[str]:
    """Return a line for each undecided rule that does not fail its gate; none without a gate."""
    return _lines(results, UNDECIDED, ok=True)


def _lines(results: Results, verdict: str, ok: bool) -> List[str]:
    rules = (results.get("gate") or {"rules": []})["rules"]
    return [_line(rule) for rule in rules if rule["ok"] is ok and rule_verdict(rule) == verdict]


def _line(rule: Mapping[str, Any]) -> str:
    undecided = f"{UNDECIDED}: " if rule_verdict(rule) == UNDECIDED else ""
    return f"{_of(rule['rule'], rule['selector'])}: {undecided}{rule['detail']}"


def rule_verdict(rule: Mapping[str, Any]) -> str:
    """Return passed, broken or undecided; older results have only whether the rule was kept."""
    return str(rule.get("verdict") or (PASSED if rule["ok"] else BROKEN))


def rule_lines(rules: Sequence[Mapping[str, Any]]) -> List[str]:
    """Return a line for each rule of a gate file, before it is applied.

    :param rules: of ``gate_rules.check_gate``.
    """
    return [_of(rule_text(rule), selector_text(rule)) for rule in rules]


def _of(rule: str, selector: str) -> str:
    return f"{rule} of {selector}" if selector else rule
