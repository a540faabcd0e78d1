"""One cell of a campaign and its repeats, as figures."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, cast

from ..records.cells import cell_key
from ..records.endings import count_key, ending_names, groups
from ..records.factors import factor_names, own_values
from ..records.plans import Cell
from ..records.results import Elapsed, Interval, MeasuredCell, Repeat, WithoutSpeed
from ..records.runs import Figures
from ..stats.median_ratio import LEVEL, ratio_of_medians
from ..stats.rounding import round_as, round_speed
from ..stats.statistics import median, median_interval, spread
from . import checks
from .scaling import base_topology, efficiency, reference_facts

__all__ = [
    "add_checks",
    "add_facts",
    "deciding_figures",
    "deciding_speeds",
    "measure_cell",
    "ok_speeds",
    "ran_oversubscribed",
    "repeats_without_speed",
    "with_speed",
]

# What results keep of the plan, beside the benchmark's own factors.
_PLAN_KEYS = (
    *("benchmark", "recipe", "framework", "framework_set", "model", *factor_names(), "variant"),
    *("topology", "nodes", "devices_per_node", "device", "node_names", "directory", "warmup"),
    *("iterations", "epochs", "target_accuracy"),
)
_OPTIONAL_KEYS = (
    *("own_factors", "units_per_sample", "no_speedup", "model_data", "loss_scaling"),
    "transport",
)
_OWN_KEYS = (
    *("average_speed", "median_speed", "speedup", "speedup_reason", "speedup_interval"),
    "efficiency",
)
_FACTS_KEYS = ("average_speed", "batch_size_per_device", "median_speed", "speedup")
# Of these the largest counts.
_LARGEST = ("peak_memory_bytes",)


def measure_cell(cell: Cell, repeats: Sequence[Repeat]) -> MeasuredCell:
    """Return the cell with its repeats, spread, interval and wall-clock speed.

    Speeds are in the benchmark's own unit or that of the logs, in ``unit``. The repeats without
    one are in the lists of ``endings.groups()``, the numbers of those without a record in
    ``not_run``. ``state`` is measured (every repeat gave a speed), partial, or, where none did,
    failed, unavailable, skipped or not_run.

    :param cell: planned, or of a record.
    :param repeats: the cell's own, of ``repeats.repeat_of``.
    """
    repeats = sorted(repeats, key=lambda repeat: repeat["repeat"])
    speeds = _speeds(repeats)
    missing = _not_run(cell, repeats)
    without = _without_speed(repeats)
    good = with_speed(repeats)
    clock = [r["wall_clock_throughput"] for r in good if r.get("wall_clock_throughput")]
    flags = [r["oversubscribed"] for r in repeats if r["oversubscribed"] is not None]
    figures = {
        "devices": cell["nodes"] * cell["devices_per_node"],
        "state": _state(speeds, without, missing),
        "unit": cell.get("unit") or next((r["unit"] for r in repeats if "unit" in r), None),
        "repeats_planned": max(cell.get("repeats") or 0, len(repeats)),
        "repeats": repeats,
        "spread": spread(speeds) if speeds else None,
        "interval": cast(Interval, median_interval(speeds)) if speeds else None,
        "wall_clock_throughput": round_speed(median(clock)) if clock else None,
        "oversubscribed": any(flags) if flags else cell.get("oversubscribed"),
        "figures": _figures(repeats),
        **without,
        "not_run": missing,
    }
    own: Dict[str, Any] = {key: value for key, value in cell.items() if key in _OPTIONAL_KEYS}
    if own_values(cell):
        own["own_factors"] = own_values(cell)
    return cast(MeasuredCell, {**{key: cell.get(key) for key in _PLAN_KEYS}, **own, **figures})


def with_speed(repeats: Sequence[Repeat]) -> List[Repeat]:
    """Return the repeats that count: those that gave a speed."""
    return [repeat for repeat in repeats if repeat["throughput"] is not None]


def ok_speeds(cell: MeasuredCell) -> List[float]:
    """Return the speeds, by the rule, of the repeats of a measured cell that gave one."""
    return _speeds(cell["repeats"])


def deciding_speeds(*cells: MeasuredCell) -> List[List[float]]:
    """Return of each cell the speeds by which it is compared with the others.

    They are samples over the time of the measured steps (``elapsed_throughput``), and the rule's
    where a repeat of any of the cells does not tell that, as in results of older versions.
    """
    by_rule = [ok_speeds(cell) for cell in cells]
    by_time = [_elapsed_speeds(cell) for cell in cells]
    return by_time if [*map(len, by_time)] == [*map(len, by_rule)] else by_rule


def _elapsed_speeds(cell: MeasuredCell) -> List[float]:
    """Return the speeds by the time of the steps; empty where a repeat with a speed has none."""
    good = with_speed(cell["repeats"])
    speeds = [r["elapsed_throughput"] for r in good if r.get("elapsed_throughput") is not None]
    return speeds if len(speeds) == len(good) else []


def deciding_figures(cell: MeasuredCell) -> Elapsed:
    """Return the median, speed-up with its interval and efficiency that gates decide by.

    Each is that of :func:`deciding_speeds`; a figure that is not known is absent or None.
    """
    by_rule = {key: cell.get(key) for key in Elapsed.__annotations__}
    return cast(Elapsed, {**by_rule, **(cell.get("elapsed") or {})})


def _speeds(repeats: Sequence[Repeat]) -> List[float]:
    return [repeat["throughput"] for repeat in repeats if repeat["throughput"] is not None]


def ran_oversubscribed(cell: MeasuredCell) -> bool:
    """Return whether the speed of a cell is of more threads than its machines have cores."""
    return bool(cell["oversubscribed"] and cell["median_speed"] is not None)


def repeats_without_speed(cell: Mapping[str, Any], group: str = "") -> List[WithoutSpeed]:
    """Return the repeats of a measured cell in one of ``endings.groups()``, by default in all."""
    return [repeat for name in ([group] if group else groups()) for repeat in cell[name]]


def _quotient(speeds: Sequence[float], base: Sequence[float]) -> Interval:
    """Return the interval of the quotient of two medians."""
    found = {**ratio_of_medians(speeds, base, LEVEL), "n": min(len(speeds), len(base))}
    return cast(Interval, {**found, "level": LEVEL})


def _not_run(cell: Cell, repeats: Sequence[Repeat]) -> List[int]:
    recorded = {repeat["repeat"] for repeat in repeats}
    return [index for index in range(1, (cell.get("repeats") or 0) + 1) if index not in recorded]


def _without_speed(repeats: Sequence[Repeat]) -> Dict[str, List[WithoutSpeed]]:
    """Return the repeats that gave no speed by the group of their ending."""
    by_group: Dict[str, List[WithoutSpeed]] = {group: [] for group in groups()}
    group_of = {name: group for group in groups() for name in ending_names(group=group)}
    for repeat in repeats:
        if repeat["throughput"] is None:
            by_group[group_of.get(repeat["ending"], "failures")].append(
                {
                    "repeat": repeat["repeat"],
                    "ending": repeat["ending"],
                    "reason": repeat["reason"],
                    "log": repeat["log"],
                }
            )
    return by_group


def _state(
    speeds: Sequence[float], without: Mapping[str, Sequence[Any]], missing: Sequence[int]
) -> str:
    if speeds:
        return "partial" if missing or any(without.values()) else "measured"
    return next((count_key(group) for group in groups() if without[group]), "not_run")


def add_facts(cells: Sequence[MeasuredCell]) -> Dict[str, Any]:
    """Complete the cells and return facts[benchmark][precision][variant][model][topology].

    :param cells: measured (:func:`measure_cell`); they get the average and median speed, speed-up
        with its reason and interval, and efficiency; the same by the time of the steps in
        ``elapsed``, None where a repeat does not tell it.
    :raises ValueError: a speed is not a number above 0.
    """
    by_group: Dict[Tuple[str, ...], List[MeasuredCell]] = {}
    for cell in cells:
        by_group.setdefault(cell_key(cell).group, []).append(cell)
    facts: Dict[str, Any] = {}
    for (benchmark, precision, variant, model), members in by_group.items():
        base, why = base_topology(members), members[0].get("no_speedup") or _apart(members)
        by_rule = {cell["topology"]: ok_speeds(cell) for cell in members}
        by_time = {cell["topology"]: _elapsed_speeds(cell) for cell in members}
        figures, elapsed = (_scaling(speeds, base, why) for speeds in (by_rule, by_time))
        for cell in members:
            figures[cell["topology"]]["batch_size_per_device"] = cell["batch_size_per_device"]
            own, timed = figures[cell["topology"]], elapsed[cell["topology"]]
            cast(Dict[str, Any], cell).update({key: own[key] for key in _OWN_KEYS})
            known = {key: timed[key] for key in Elapsed.__annotations__ if timed[key] is not None}
            cell["elapsed"] = cast(Elapsed, known) or None
        place = facts.setdefault(benchmark, {}).setdefault(precision, {}).setdefault(variant, {})
        place[model] = {
            topology: {key: figures[topology][key] for key in _FACTS_KEYS} for topology in figures
        }
    return facts


def _apart(members: Sequence[MeasuredCell]) -> Optional[str]:
    """Return that the logs of a group count different things; None where they do not."""
    units = {
        one["unit"] for cell in members for one in with_speed(cell["repeats"]) if "unit" in one
    }
    if not checks.units_differ(units):
        return None
    return f"the logs count in different units: {', '.join(sorted(units))}"


def _scaling(
    speeds: Mapping[str, Sequence[float]], baseline: str, no_speedup: Optional[str]
) -> Dict[str, Dict[str, Any]]:
    """Return the reference facts by topology, with efficiency and the speed-up's interval.

    :param speeds: of the repeats, by topology.
    :param baseline: of ``scaling.base_topology``.
    :param no_speedup: why figures of this benchmark have none; None where they do.
    """
    base = speeds.get(baseline)
    (figures,) = reference_facts(speeds, baseline=baseline).values()
    for topology, own in figures.items():
        # Of the medians themselves: the 2 places of the speed-up are 1 % of a small one.
        exact = None if own["speedup"] is None else median(speeds[topology]) / median(base or ())
        share = efficiency(exact, topology, baseline)
        own["efficiency"] = None if share is None else round_as(share, "numpy_4")
        is_quotient = bool(speeds[topology] and base) and topology != baseline
        interval = _quotient(speeds[topology], base or ()) if is_quotient else None
        own["speedup_interval"] = interval
        own.setdefault("speedup_reason", "")
        if no_speedup:
            own.update(dict.fromkeys(("speedup", "efficiency", "speedup_interval")))
            own["speedup_reason"] = no_speedup
    return figures


def add_checks(
    cells: Sequence[MeasuredCell], facts: Dict[str, Any], machines: Mapping[str, str]
) -> None:
    """Add ``invalid`` and ``warnings`` of :mod:`checks` to the cells.

    An invalid cell loses its speed-up, in ``facts`` too; the reason holds the figure.

    :param cells: completed by :func:`add_facts`, which returned ``facts``.
    :param machines: of the nodes, by name (``node_names.machines_of``).
    """
    broken, odd = checks.broken(cells), checks.warnings(cells, machines)
    for cell in cells:
        key = cell_key(cell)
        cell["invalid"], cell["warnings"] = broken.get(key, []), odd.get(key, [])
        if cell["invalid"]:
            reasons = "; ".join(finding["detail"] for finding in cell["invalid"])
            cell["state"] = "invalid"
            cell["speedup"] = cell["speedup_interval"] = cell["efficiency"] = None
            if cell["elapsed"]:
                cell["elapsed"] = {"median_speed": cell["elapsed"]["median_speed"]}
            cell["speedup_reason"] = f"invalid: {reasons}"
            place = facts[key.benchmark][key.precision][key.variant][key.model]
            place[key.topology]["speedup"] = None


def _figures(repeats: Sequence[Repeat]) -> Optional[Figures]:
    """Return the median of each figure over the repeats with a speed that have it; None without.

    Of memory it is the largest; texts that differ stand one after the other.
    """
    known = [
        one["figures"] for one in repeats if one["throughput"] is not None and "figures" in one
    ]
    return cast(Figures, _middle(known)) if known else None


def _middle(known: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    names = dict.fromkeys(name for figures in known for name in figures)
    return {name: _of(name, [each[name] for each in known if name in each]) for name in names}


def _of(name: str, values: List[Any]) -> Any:
    if isinstance(values[0], dict):
        return _middle(values)
    if isinstance(values[0], str):
        return "; ".join(dict.fromkeys(values))
    return max(values) if name in _LARGEST else median(values)
