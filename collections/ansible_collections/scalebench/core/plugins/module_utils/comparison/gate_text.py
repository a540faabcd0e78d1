"""The verdict of a gate in words: a section of the report and lines for the terminal."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence

from ..layout.sections import Section, section, table
from ..records.results import Results
from .gate_rules import selector_text

__all__ = ["broken_rules", "gate_line", "gate_sections", "rule_lines"]


def gate_sections(results: Results) -> List[Section]:
    """Return the section on the gate; nothing where no gate was applied."""
    gate = results.get("gate")
    if not gate:
        return []
    rows = [
        {
            "rule": rule["rule"],
            "cells": rule["selector"] or "all",
            "verdict": "kept" if rule["ok"] else "broken",
            "detail": rule["detail"],
        }
        for rule in gate["rules"]
    ]
    return [section("gate", "Gate", [f"{gate_line(results)}."], [table("Rules", rows)])]


def gate_line(results: Results) -> str:
    """Return the verdict of a gate in one sentence.

    :param results: with ``gate``.
    """
    gate = results["gate"]
    broken = sum(not rule["ok"] for rule in gate["rules"])
    many = len(gate["rules"])
    verdict = f"{broken} of {many} rule(s) broken" if broken else f"all {many} rule(s) kept"
    left = len(gate["failures"])
    failed = f"; {left} failed repeat(s) that no rule allows" if left else ""
    return f"gate {gate['file']}: {verdict}{failed}"


def broken_rules(results: Results) -> List[str]:
    """Return a line for each broken rule; none without a gate."""
    gate = results.get("gate") or {"rules": []}
    return [
        f"{_of(rule['rule'], rule['selector'])}: {rule['detail']}"
        for rule in gate["rules"]
        if not rule["ok"]
    ]


def rule_lines(rules: Sequence[Mapping[str, Any]]) -> List[str]:
    """Return a line for each rule of a gate file, before it is applied.

    :param rules: of ``gate_rules.check_gate``.
    """
    return [_of(f"{rule['metric']}: {rule['value']:g}", selector_text(rule)) for rule in rules]


def _of(rule: str, selector: str) -> str:
    return f"{rule} of {selector}" if selector else rule
