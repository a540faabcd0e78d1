"""From a plan and the records of its repeats to results.json: facts, units, provenance, cells."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.scalebench.core.plugins.module_utils.provenance import provenance, units
from ansible_collections.scalebench.core.plugins.module_utils.result_cells import (
    add_scaling,
    cell_key,
    measure_cell,
    ok_speeds,
)
from ansible_collections.scalebench.core.plugins.module_utils.scaling import seed_facts

__all__ = ["build_results", "only_facts"]

SCHEMA = 1
BASELINE = "1n1g"
_SEEDS_KEYS = ("average_speed", "batch_size_per_device", "median_speed", "speedup")


def _cells(plan: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    """Return every planned cell, then those that only a record knows, measured."""
    known: Dict[Tuple[str, ...], Mapping[str, Any]] = {}
    for cell in [*plan.get("cells", ()), *(run["cell"] for run in runs)]:
        known.setdefault(cell_key(cell), cell)
    own: Dict[Tuple[str, ...], List[Mapping[str, Any]]] = {key: [] for key in known}
    for run in runs:
        own[cell_key(run["cell"])].append(run)
    return [measure_cell(cell, own[key]) for key, cell in known.items()]


def _facts(cells: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    """Return facts[benchmark][precision][variant][model][topology] and complete the cells."""
    groups: Dict[Tuple[str, ...], List[Dict[str, Any]]] = {}
    for cell in cells:
        groups.setdefault(cell_key(cell)[:4], []).append(cell)
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


def build_results(
    plan: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    unmatched: Sequence[Mapping[str, str]] = (),
) -> Dict[str, Any]:
    """Return schema, campaign, facts, units, provenance, cells, counts, unmatched.

    ``plan``: plan.json, or what stands for one: {campaign, cells, nodes, options}. ``runs``: run
    records, ``facts`` those of the log. ``facts`` of the result are the seeds', nested by
    benchmark, precision and variant. ``unmatched``: {path, reason} of files that are no log.

    :raises ValueError: a speed is no number above 0.
    """
    cells = _cells(plan, runs)
    facts = _facts(cells)
    return {
        "schema": SCHEMA,
        "campaign": plan.get("campaign"),
        "facts": facts,
        "units": units(cells),
        "provenance": provenance(plan, runs, BASELINE),
        "counts": {
            "cells": len(cells),
            "planned": sum(cell["repeats_planned"] for cell in cells),
            "ok": sum(len(ok_speeds(cell)) for cell in cells),
            "failed": sum(len(cell["failures"]) for cell in cells),
            "not_run": sum(len(cell["not_run"]) for cell in cells),
            "unmatched": len(unmatched),
        },
        "cells": cells,
        "unmatched": list(unmatched),
    }


def only_facts(results: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the facts as the originals wrote them: {model: {topology: {…}}}.

    A tree of one benchmark, precision and variant gives exactly that; a tree of several, which
    the originals mixed up, keeps the nesting.
    """
    facts: Dict[str, Any] = results["facts"]
    groups = [
        variants[variant]
        for precisions in facts.values()
        for variants in precisions.values()
        for variant in variants
    ]
    return groups[0] if len(groups) == 1 else facts
