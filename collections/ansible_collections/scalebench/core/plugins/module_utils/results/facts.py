"""The seeds' facts of measured cells, and what the cells owe to one another: speed-ups, checks."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from . import cell_checks
from ..records.cells import cell_key
from .cells import add_scaling, invalidate, ok_speeds
from .scaling import seed_facts

__all__ = ["BASELINE", "add_facts", "check"]

BASELINE = "1n1g"
_SEEDS_KEYS = ("average_speed", "batch_size_per_device", "median_speed", "speedup")


def add_facts(cells: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    """Return facts[benchmark][precision][variant][model][topology] and complete the cells.

    :param cells: measured (``cells.measure_cell``).
    :raises ValueError: a speed is no number above 0.
    """
    groups: Dict[Tuple[str, ...], List[Dict[str, Any]]] = {}
    for cell in cells:
        groups.setdefault(cell_key(cell).group, []).append(cell)
    facts: Dict[str, Any] = {}
    for (benchmark, precision, variant, model), members in groups.items():
        speeds = {cell["topology"]: ok_speeds(cell) for cell in members}
        batch = members[0]["batch_size_per_device"]
        figures = seed_facts(speeds, model, batch, baseline=BASELINE)[model]
        baseline = next((cell for cell in members if cell["topology"] == BASELINE), None)
        for cell in members:
            add_scaling(cell, figures[cell["topology"]], baseline)
        place = facts.setdefault(benchmark, {}).setdefault(precision, {}).setdefault(variant, {})
        place[model] = {
            topology: {key: figures[topology][key] for key in _SEEDS_KEYS} for topology in figures
        }
    return facts


def check(cells: Sequence[Dict[str, Any]], facts: Dict[str, Any]) -> None:
    """Add ``invalid`` and ``warnings`` of ``cell_checks`` to the cells.

    An invalid cell has no speed-up any more, in ``facts`` neither; its reason holds the figure.

    :param cells: completed by ``add_facts``, which returned ``facts``.
    """
    broken, odd = cell_checks.broken(cells), cell_checks.warnings(cells)
    for cell in cells:
        key = cell_key(cell)
        cell["invalid"], cell["warnings"] = broken.get(key, []), odd.get(key, [])
        if cell["invalid"]:
            invalidate(cell)
            benchmark, precision, variant, model, topology = key
            facts[benchmark][precision][variant][model][topology]["speedup"] = None
