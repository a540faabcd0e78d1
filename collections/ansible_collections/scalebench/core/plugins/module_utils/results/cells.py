"""One cell of a campaign and the records of its repeats, as figures."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.records.cells import IDENTITY_KEYS
from ansible_collections.scalebench.core.plugins.module_utils.records.factors import (
    factor_names,
)
from ansible_collections.scalebench.core.plugins.module_utils.results.repeats import NEVER_RAN
from ansible_collections.scalebench.core.plugins.module_utils.stats.rounding import round_as
from ansible_collections.scalebench.core.plugins.module_utils.results.scaling import efficiency
from ansible_collections.scalebench.core.plugins.module_utils.stats.statistics import (
    median,
    median_interval,
    ratio_interval,
    spread,
)
from ansible_collections.scalebench.core.plugins.module_utils.topology import parse_topology

__all__ = ["add_scaling", "check_cell", "invalidate", "measure_cell", "ok_speeds"]

# What results keep of the plan, beside the benchmark's own factors.
_PLANNED = (
    *("benchmark", "recipe", "framework", "framework_set", "model", *factor_names(), "variant"),
    *("topology", "nodes", "devices_per_node", "device", "node_names", "directory", "warmup"),
    *("iterations", "epochs", "target_accuracy"),
)
_NEEDED = (*IDENTITY_KEYS, "batch_size_per_device", "nodes", "devices_per_node")
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


def measure_cell(cell: Mapping[str, Any], repeats: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    """Return the cell with its repeats, spread, interval, wall-clock speed, and what gave none.

    Speeds are in the benchmark's own unit or that of the logs, in ``unit``. ``failures``, ``unavailable`` and ``skipped``
    are the repeats without one, by ending; ``not_run`` the numbers of those without a record.
    ``state`` is measured (every repeat gave a speed), partial, or, where none did, failed,
    unavailable, skipped or not_run.

    :param repeats: the cell's own, of ``repeats.repeat_of``.
    """
    repeats = sorted(repeats, key=lambda repeat: repeat["repeat"])
    speeds = ok_speeds({"repeats": repeats})
    missing = _not_run(cell, repeats)
    without = _without(repeats)
    clock = [r["wall_clock_throughput"] for r in repeats if r.get("wall_clock_throughput")]
    flags = [r["oversubscribed"] for r in repeats if r["oversubscribed"] is not None]
    return {
        **{key: cell.get(key) for key in _PLANNED},
        **({"own_factors": cell["own_factors"]} if "own_factors" in cell else {}),
        "devices": cell["nodes"] * cell["devices_per_node"],
        "state": _state(speeds, without, missing),
        "unit": cell.get("unit") or next((r["unit"] for r in repeats if "unit" in r), None),
        "repeats_planned": max(cell.get("repeats") or 0, len(repeats)),
        "repeats": repeats,
        "spread": spread(speeds) if speeds else None,
        "interval": _interval(speeds) if speeds else None,
        "wall_clock_throughput": round_as(median(clock)) if clock else None,
        "oversubscribed": any(flags) if flags else cell.get("oversubscribed"),
        **without,
        "not_run": missing,
    }


def _without(repeats: Sequence[Mapping[str, Any]]) -> Dict[str, List[Dict[str, Any]]]:
    """Return the repeats that gave no speed: those that failed, and those never tried."""
    found: Dict[str, List[Dict[str, Any]]] = {"failures": [], "unavailable": [], "skipped": []}
    for repeat in repeats:
        if repeat["throughput"] is None:
            kind = repeat["ending"] if repeat["ending"] in NEVER_RAN else "failures"
            found[kind].append({key: repeat[key] for key in ("repeat", "ending", "reason", "log")})
    return found


def _state(
    speeds: Sequence[float], without: Mapping[str, Sequence[Any]], missing: Sequence[int]
) -> str:
    if speeds:
        return "partial" if missing or any(without.values()) else "measured"
    for kind, state in (
        *(("failures", "failed"), ("unavailable", "unavailable"), ("skipped", "skipped")),
    ):
        if without[kind]:
            return state
    return "not_run"


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


def invalidate(cell: Dict[str, Any]) -> None:
    """Take the speed-up out of a cell that has ``invalid`` rules; they are its reason then."""
    reasons = "; ".join(one["detail"] for one in cell["invalid"])
    cell.update(
        state="invalid",
        speedup=None,
        speedup_reason=f"invalid: {reasons}",
        speedup_interval=None,
        efficiency=None,
    )
