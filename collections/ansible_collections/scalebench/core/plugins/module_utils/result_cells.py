"""One cell of a campaign and the records of its repeats, as figures."""

from __future__ import annotations

from math import isfinite
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.scalebench.core.plugins.module_utils.rounding import round_as
from ansible_collections.scalebench.core.plugins.module_utils.scaling import efficiency
from ansible_collections.scalebench.core.plugins.module_utils.statistics import (
    median,
    median_interval,
    ratio_interval,
    spread,
)
from ansible_collections.scalebench.core.plugins.module_utils.topology import parse_topology

__all__ = ["add_scaling", "cell_key", "check_cell", "measure_cell", "ok_speeds"]

_IDENTITY_KEY = ("benchmark", "precision", "variant", "model", "topology")
# fmt: off
_IDENTITY = (
    "benchmark", "recipe", "framework", "model", "precision", "variant", "batch_size_per_device",
    "xla", "data", "data_backend", "image_size", "topology", "nodes", "devices_per_node", "device",
    "node_names", "directory", "warmup", "iterations",
)
_NEEDED = (*_IDENTITY_KEY, "batch_size_per_device", "nodes", "devices_per_node")
_OF_THE_LOG = (
    "unit", "reader", "count", "wall_clock_throughput", "loss", "memory", "accuracy",
    "time_to_train", "steady_state", "within_run",
)
# fmt: on
# An interval of a quotient takes every pair of resampled medians: 78 * 78 of twelve repeats each.
_MOST_REPEATS = 12


def check_cell(cell: Any) -> None:
    """Refuse what is no cell, as a damaged file may hold.

    :raises ValueError: it is no mapping, or a key that a report needs is missing or no count.
    """
    if not isinstance(cell, Mapping):
        raise ValueError(f"a cell is a mapping, not {cell!r}")
    missing = [key for key in _NEEDED if not cell.get(key)]
    if missing:
        raise ValueError(f"the cell has no {', '.join(missing)}")
    if parse_topology(cell["topology"]) != (cell["nodes"], cell["devices_per_node"]):
        raise ValueError(f"topology {cell['topology']} does not fit nodes and devices_per_node")


def cell_key(cell: Mapping[str, Any]) -> Tuple[str, ...]:
    """Return what tells one cell from another."""
    return tuple(str(cell.get(name)) for name in _IDENTITY_KEY)


def _repeat(run: Mapping[str, Any]) -> Dict[str, Any]:
    """Return one repeat; throughput is None and a reason stands there where it gave none."""
    facts = run.get("facts") or {}
    ending, reason = run.get("ending") or "invalid", run.get("reason") or ""
    speed = facts.get("throughput")
    if ending == "ok" and not (isinstance(speed, (int, float)) and isfinite(speed) and speed > 0):
        said = facts.get("reason") or f"its log gave no throughput but {speed}"
        ending, reason = "invalid", reason or said
    found: Dict[str, Any] = {
        "repeat": run["repeat"],
        "log": run.get("log"),
        "ending": ending,
        "reason": reason,
        "throughput": speed if ending == "ok" else None,
        "seconds": run.get("seconds"),
        "oversubscribed": run.get("oversubscribed"),
    }
    if (facts.get("ending") or {}).get("kind", "complete") != "complete":
        found["log_ending"] = facts["ending"]
    return {**found, **{key: facts[key] for key in _OF_THE_LOG if facts.get(key) is not None}}


def _interval(speeds: Sequence[float], base: Sequence[float] = ()) -> Dict[str, Any]:
    """Return the interval of the median, or of its quotient with that of ``base``."""
    n = max(len(speeds), len(base))
    if base and n > _MOST_REPEATS:
        reason = f"{n} repeats: not computed for a quotient above {_MOST_REPEATS}"
        return {"low": None, "high": None, "n": n, "reason": reason}
    try:
        return ratio_interval(speeds, base) if base else median_interval(speeds)
    except ValueError as error:
        return {"low": None, "high": None, "n": n, "reason": str(error)}


def _not_run(cell: Mapping[str, Any], repeats: Sequence[Mapping[str, Any]]) -> List[int]:
    there = {repeat["repeat"] for repeat in repeats}
    return [index for index in range(1, (cell.get("repeats") or 0) + 1) if index not in there]


def measure_cell(cell: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    """Return the cell with its repeats, spread, interval, wall-clock speed, failures.

    ``runs``: the cell's run records, each with ``facts`` of its log or None. Speeds are in the
    unit of the logs, in ``unit``. ``state`` is measured (every repeat gave a speed), partial,
    failed (none did), or not_run.
    """
    repeats = sorted((_repeat(run) for run in runs), key=lambda repeat: repeat["repeat"])
    speeds = ok_speeds({"repeats": repeats})
    missing = _not_run(cell, repeats)
    failures = [
        {key: repeat[key] for key in ("repeat", "ending", "reason", "log")}
        for repeat in repeats
        if repeat["throughput"] is None
    ]
    clock = [r["wall_clock_throughput"] for r in repeats if r.get("wall_clock_throughput")]
    state = "failed" if failures else "not_run"
    if speeds:
        state = "partial" if failures or missing else "measured"
    flags = [r["oversubscribed"] for r in repeats if r["oversubscribed"] is not None]
    return {
        **{key: cell.get(key) for key in _IDENTITY},
        "devices": cell["nodes"] * cell["devices_per_node"],
        "state": state,
        "unit": next((r["unit"] for r in repeats if "unit" in r), None),
        "repeats_planned": cell.get("repeats") or len(repeats),
        "repeats": repeats,
        "spread": spread(speeds) if speeds else None,
        "interval": _interval(speeds) if speeds else None,
        "wall_clock_throughput": round_as(median(clock)) if clock else None,
        "oversubscribed": any(flags) if flags else cell.get("oversubscribed"),
        "failures": failures,
        "not_run": missing,
    }


def ok_speeds(cell: Mapping[str, Any]) -> List[float]:
    """Return the speeds of the repeats that gave one."""
    return [r["throughput"] for r in cell["repeats"] if r["throughput"] is not None]


def add_scaling(
    cell: Dict[str, Any], figures: Mapping[str, Any], baseline: Optional[Mapping[str, Any]]
) -> None:
    """Add average_speed, median_speed, speedup and its reason and interval, efficiency to a cell.

    ``figures``: the cell's part of the seeds' facts; ``baseline``: the measured cell of 1n1g.
    """
    speeds, base = ok_speeds(cell), ok_speeds(baseline) if baseline else []
    share = efficiency(figures["speedup"], cell["topology"])
    is_quotient = bool(speeds and base) and cell is not baseline
    cell.update(
        average_speed=figures["average_speed"],
        median_speed=figures["median_speed"],
        speedup=figures["speedup"],
        speedup_reason=figures.get("speedup_reason", ""),
        speedup_interval=_interval(speeds, base) if is_quotient else None,
        efficiency=None if share is None else round_as(share, "numpy_4"),
    )
