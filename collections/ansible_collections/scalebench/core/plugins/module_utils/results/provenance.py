"""Where the figures of results.json come from: units, rules in words, strategies, plan, nodes."""

from __future__ import annotations

import calendar
from datetime import datetime
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..records.results import MeasuredCell
from ..records.runs import RunRecord
from ..strategies import STRATEGIES, parameters_of
from .checks import applied_checks
from .scaling import BASELINE

__all__ = ["calendar_day", "provenance", "units", "unix_seconds"]

RULES = {
    "average_speed": "arithmetic mean over the repeats, rounded like numpy to 2 places,"
    " below 1 to 3 digits",
    "median_speed": "median over the repeats, rounded like numpy to 2 places, below 1 to 3 digits",
    "speedup": "median_speed / median_speed of 1n1g of the same benchmark, precision and variant,"
    " rounded like numpy to 2 places; in strong scaling over that of the smallest topology that the"
    " global batch size divides over",
    "efficiency": "speedup before it is rounded / devices, in strong scaling / devices as a"
    " multiple of those of that topology; rounded like numpy to 4 places",
    "interval": "of the median, between two of the repeats; coverage is the probability that it"
    " holds the true median, at least 0.95 from six on; where half_width ended the cell, 0.02 less",
    "speedup_interval": "Welch's t on the logarithms of the repeats, level 0.95",
    "elapsed_throughput": "what the measured iterations counted, in the throughput's unit /"
    " the time that they took: the harmonic mean of the printed rates; gates and comparisons"
    " decide by it",
    "wall_clock_throughput": "what the measured iterations counted, in the throughput's unit /"
    " the time between their time stamps; median over the repeats",
}
# Parameters of a strategy that belong to one log and do not make another rule.
_LOG_PARAMETERS = ("run", "devices")
# What the header of a log states of the framework and its GPU libraries.
_TRAINER = (
    *("framework", "framework_version", "device_name", "capability"),
    *("cuda", "cudnn", "nccl", "architectures"),
)
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_PLAN_KEYS = (
    "created",
    "options",
    "controller",
    "sha256",
    "nodes",
    "variants",
    "seed",
    "continued",
    "other_trainers",
    "carrier",
)


def units(cells: Sequence[MeasuredCell]) -> Dict[str, str]:
    """Return the unit of the figures in results.json whose names do not say it."""
    known = sorted({cell["unit"] for cell in cells if cell["unit"]})
    speed = known[0] if len(known) == 1 else "the unit of each cell"
    by_time = ("elapsed_throughput", "wall_clock_throughput")
    names = ("throughput", "average_speed", "median_speed", *by_time)
    batch = {(cell.get("model_data") or {}).get("samples", "samples") for cell in cells}
    counted = batch.pop() if len(batch) == 1 else "samples"
    return {
        **dict.fromkeys((*names, "minimum", "maximum", "range", "sd", "interval"), speed),
        "speedup": "ratio",
        "speedup_interval": "ratio",
        "efficiency": "share of ideal",
        "cv": "ratio",
        "batch_size_per_device": counted,
        "global_batch_size": counted,
        "seconds": "s",
        "memory": "MiB",
        "cpu_busy_share": "share of the machines' CPU time",
        "cpu_own_share": "share of the machines' CPU time",
        "gpu_utilisation": "percent",
        "gpu_temperature_c": "degrees Celsius",
        "gpu_throttle": "share of the readings",
        "mfu": "share of the peak",
        "first_step": "s",
        "interference": "speed beside others / speed alone",
    }


def unix_seconds(created: Any) -> Optional[int]:
    """Return ``created`` of plan.json in seconds since 1970, UTC; None where it is not a time.

    :param created: as ``2026-11-21T04:28:55Z``.
    """
    try:
        return calendar.timegm(datetime.strptime(created, _TIME_FORMAT).timetuple())
    except (TypeError, ValueError):
        return None


def calendar_day(created: Any) -> str:
    """Return the day of ``created`` of plan.json, UTC; empty where it is not a time."""
    return str(created)[:10] if unix_seconds(created) is not None else ""


def provenance(
    plan: Mapping[str, Any], runs: Sequence[RunRecord], cells: Sequence[MeasuredCell]
) -> Dict[str, Any]:
    """Return what the figures come from: of the logs, the code, and the plan's own origin.

    :param plan: plan.json, or what stands for one.
    :param runs: the measured run records.
    """
    readers = {(run.get("facts") or {}).get("reader") for run in runs}
    return {
        "strategies": _strategies(runs),
        "rules": dict(RULES),
        "checks": applied_checks(runs, cells),
        "baseline": BASELINE,
        "readers": sorted(reader for reader in readers if reader),
        "trainers": _trainers(runs),
        **{key: plan[key] for key in _PLAN_KEYS if key in plan},
    }


def _trainers(runs: Sequence[RunRecord]) -> List[Dict[str, Any]]:
    """Return what the headers of logs from GPUs state of their trainer, each once."""
    stated: List[Dict[str, Any]] = []
    for run in runs:
        identity = (run.get("facts") or {}).get("identity") or {}
        trainer = {name: identity.get(name) for name in _TRAINER}
        if trainer["capability"] and trainer not in stated:
            stated.append(trainer)
    return stated


def _strategies(runs: Sequence[RunRecord]) -> List[Dict[str, Any]]:
    """Return each strategy that a log was read by, once.

    ``about`` is its rule in words, ``changed`` holds the parameters that are not the defaults.
    """
    used: List[Dict[str, Any]] = []
    for run in runs:
        given = (run.get("facts") or {}).get("strategy")
        if given:
            parameters = {
                key: value
                for key, value in given["parameters"].items()
                if key not in _LOG_PARAMETERS
            }
            strategy = {"name": given["name"], "parameters": parameters}
            if strategy not in used:
                used.append(strategy)
    return [
        {
            **strategy,
            "about": STRATEGIES.get(strategy["name"], {}).get("about", ""),
            "changed": _changed(strategy),
        }
        for strategy in used
    ]


def _changed(strategy: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the parameters that differ from the strategy's defaults."""
    defaults = parameters_of(strategy["name"]) if strategy["name"] in STRATEGIES else {}
    given: Mapping[str, Any] = strategy["parameters"]
    return {key: given[key] for key in given if given[key] != defaults.get(key)}
