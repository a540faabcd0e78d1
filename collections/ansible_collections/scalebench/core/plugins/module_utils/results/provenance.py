"""Where the figures of results.json come from: units, rules in words, strategies, plan, nodes."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.results.applied_checks import (
    applied_checks,
)
from ansible_collections.scalebench.core.plugins.module_utils.strategies import (
    STRATEGIES,
    parameters_of,
)

__all__ = ["provenance", "units"]

RULES = {
    "average_speed": "arithmetic mean over the repeats, rounded like numpy to 2 places",
    "median_speed": "median over the repeats, rounded like numpy to 2 places",
    "speedup": "median_speed / median_speed of 1n1g of the same benchmark, precision and variant,"
    " rounded like numpy to 2 places",
    "efficiency": "speedup / devices",
    "interval": "exact percentile bootstrap of the median of the repeats, level 0.95; with few"
    " repeats it spans nearly all of them",
    "wall_clock_throughput": "samples of the measured iterations / the time between their time"
    " stamps; median over the repeats",
}


_OF_ONE_LOG = ("run", "devices")
_OF_THE_PLAN = ("created", "options", "controller", "sha256", "nodes")


def units(cells: Sequence[Mapping[str, Any]]) -> Dict[str, str]:
    """Return the unit of every figure in results.json."""
    found = sorted({cell["unit"] for cell in cells if cell["unit"]})
    speed = found[0] if len(found) == 1 else "the unit of each cell"
    names = ("throughput", "average_speed", "median_speed", "wall_clock_throughput")
    return {
        **dict.fromkeys((*names, "minimum", "maximum", "range", "sd", "interval"), speed),
        "speedup": "ratio",
        "efficiency": "share of ideal",
        "cv": "ratio",
        "batch_size_per_device": "samples",
        "seconds": "s",
        "memory": "MiB",
        "cpu_busy_share": "share of the machines' CPU time",
        "cpu_own_share": "share of the machines' CPU time",
        "gpu_utilisation": "percent",
        "gpu_temperature_c": "degrees Celsius",
        "gpu_throttle": "share of the samples",
        "interference": "speed beside others / speed alone",
    }


def _strategies(runs: Sequence[Mapping[str, Any]]) -> List[Any]:
    """Return each strategy that a log was read by, once.

    ``about`` is its rule in words, ``changed`` holds the parameters that are not its own.
    """
    found: List[Any] = []
    for run in runs:
        strategy = (run.get("facts") or {}).get("strategy")
        if strategy:
            # The run in the file and its devices are the log's and make no other rule.
            kept = {k: v for k, v in strategy["parameters"].items() if k not in _OF_ONE_LOG}
            strategy = {"name": strategy["name"], "parameters": kept}
        if strategy and strategy not in found:
            found.append(strategy)
    return [
        {
            **strategy,
            "about": STRATEGIES.get(strategy["name"], {}).get("about", ""),
            "changed": _changed(strategy),
        }
        for strategy in found
    ]


def _changed(strategy: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the parameters that differ from the strategy's own."""
    own = parameters_of(strategy["name"]) if strategy["name"] in STRATEGIES else {}
    given: Mapping[str, Any] = strategy["parameters"]
    return {key: given[key] for key in given if given[key] != own.get(key)}


def provenance(
    plan: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    cells: Sequence[Mapping[str, Any]],
    baseline: str,
) -> Dict[str, Any]:
    """Return strategies, rules, checks, baseline, readers, and what the plan says of its origin."""
    return {
        "strategies": _strategies(runs),
        "rules": dict(RULES),
        "checks": applied_checks(runs, cells),
        "baseline": baseline,
        "readers": sorted(
            {reader for run in runs if (reader := (run.get("facts") or {}).get("reader"))}
        ),
        **{key: plan[key] for key in _OF_THE_PLAN if key in plan},
    }
