"""Which rules of physics the results were held against, for the method section of a report."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence

from . import cell_checks
from ..running import invariants

__all__ = ["applied_checks"]

# The first schema of run records whose endings the invariants were part of.
_CHECKED = 2
# The only one of cell_checks that is no mere warning.
_BREAKS = "speedup_at_most_ideal"
# What must differ between cells for a rule to have something to compare; else the topology.
_COMPARES = {rule: factor for rule, factor, _slow, _fast in cell_checks.PAIRS}


def applied_checks(
    runs: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]
) -> Dict[str, Dict[str, str]]:
    """Return the rules applied, each in words, by what a broken one does.

    ``invalid_repeat`` and ``invalid_cell`` take a figure out of the results; ``warning`` does not.

    :param runs: run records; those of schema 1 were not checked.
    :param cells: measured (``cells.measure_cell``).
    """
    checked = any(run.get("schema", 1) >= _CHECKED for run in runs)
    between = {
        name: about
        for name, about in _words(cell_checks.RULES).items()
        if len({cell.get(_COMPARES.get(name, "topology")) for cell in cells}) > 1
    }
    return {
        "invalid_repeat": _words(invariants.RULES) if checked else {},
        "invalid_cell": {name: between[name] for name in between if name == _BREAKS},
        "warning": {name: between[name] for name in between if name != _BREAKS},
    }


def _words(rules: Mapping[str, Mapping[str, str]]) -> Dict[str, str]:
    return {name: rule["about"] for name, rule in rules.items()}
