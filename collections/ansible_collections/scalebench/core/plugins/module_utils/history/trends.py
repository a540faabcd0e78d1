"""Trends: the cells of many campaigns that were measured under the same conditions."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Union

from ..comparison.cell_pairs import cell_conditions, differing
from ..records.cells import IDENTITY_KEYS, CellKey, cell_key
from ..records.plans import Cell
from ..records.results import MeasuredCell, Results
from ..results.cells import deciding_speeds, with_speed
from ..results.provenance import unix_seconds
from ..stats.statistics import median_interval
from ..topology import world_size

__all__ = ["NOT_RECORDED", "conditions", "entry", "gather", "select", "without_copies"]

# Conditions that are unknown of a cell without a speed.
_MEASURED = ("packed", "rule")
# The hardware where no fingerprint tells it.
NOT_RECORDED = "not recorded"
_FIGURES = ("median", "low", "high", "n", "state")

Campaign = Mapping[str, Any]
AnyCell = Union[Cell, MeasuredCell]


def entry(results: Results, folder: str) -> Dict[str, Any]:
    """Return what history takes from one campaign.

    :param results: of ``versions.read``.
    :param folder: its name below the folder of the campaigns.
    :returns: ``folder``, ``campaign``, ``created`` (UTC), ``provenance``, and ``points``: for each
        cell its ``conditions``, ``median`` (in their ``unit``; None where nothing was measured),
        its interval ``low`` and ``high``, ``n`` repeats, its ``state``, and ``mfu`` or None.
    :raises ValueError: it is not known when it was measured.
    """
    known = results["provenance"]
    if unix_seconds(known.get("created")) is None:
        raise ValueError("it does not say when it was planned, as results of a tree of logs do not")
    rules = {str(strategy.get("name")) for strategy in known["strategies"]}
    return {
        "folder": folder,
        "campaign": str(results["campaign"]),
        "created": known["created"],
        "provenance": known,
        "points": [_point(cell, known["nodes"], rules) for cell in results["cells"]],
    }


def _point(cell: MeasuredCell, nodes: Mapping[str, Any], rules: Set[str]) -> Dict[str, Any]:
    """Return the point of a cell.

    :param rules: of all cells, for repeats that do not say by which they were measured.
    """
    good = with_speed(cell["repeats"])
    own = {repeat["strategy"] for repeat in good if repeat.get("strategy")}
    interval: Mapping[str, Any] = cell["interval"] or {}
    spread = cell["spread"] or {}
    return {
        "conditions": {
            **conditions(cell, nodes),
            "packed": any(repeat["packed_with"] for repeat in cell["repeats"]),
            "rule": ", ".join(sorted(own or rules)),
        },
        "median": cell["median_speed"],
        "low": interval.get("low"),
        "high": interval.get("high"),
        "n": spread.get("n", 0),
        "state": cell["state"],
        "mfu": _mfu(cell),
        "by_time": _by_time(cell),
    }


def _mfu(cell: MeasuredCell) -> Optional[float]:
    """Return the utilisation by NVIDIA's count, else by what the benchmark states, as a share."""
    shares = (cell.get("figures") or {}).get("mfu") or {}
    return next((shares[name] for name in ("nvidia", "stated") if name in shares), None)


def _by_time(cell: MeasuredCell) -> Optional[Dict[str, Any]]:
    """Return the same figures by the time of the steps, None where a repeat does not tell it."""
    elapsed = cell.get("elapsed")
    if not elapsed or "median_speed" not in elapsed:
        return None
    interval = median_interval(deciding_speeds(cell)[0])
    return {"median": elapsed["median_speed"], "low": interval["low"], "high": interval["high"]}


def conditions(cell: AnyCell, nodes: Mapping[str, Any]) -> Dict[str, Any]:
    """Return what decides how fast a cell is, and is known of one that is planned.

    :param cell: of a plan or of results; ``nodes`` the fingerprints by name.
    """
    return {
        **cell_conditions(cell),
        **{name: cell.get(name) for name in IDENTITY_KEYS},
        "hardware": _hardware(cell, nodes),
    }


def _hardware(cell: AnyCell, nodes: Mapping[str, Any]) -> str:
    """Return the kinds of machine that the cell ran on, by GPUs, cores and CPU model."""
    kinds = set()
    for name in cell.get("node_names") or ():
        node = nodes.get(name)
        if node:
            gpus = [str(gpu.get("name")) for gpu in node.get("gpus") or ()]
            cpu = f"{node.get('cores')} cores of {node.get('cpu_model')}"
            kinds.add(
                ", ".join([f"{gpus.count(gpu)} x {gpu}" for gpu in sorted(set(gpus))] + [cpu])
            )
    return "; ".join(sorted(kinds)) or NOT_RECORDED


def gather(entries: Sequence[Campaign]) -> Tuple[List[Dict[str, Any]], List[Dict[str, str]]]:
    """Return the trends, and ``folder`` and ``reason`` of campaigns that occur twice.

    A trend has its ``conditions`` and ``points`` in order of time: ``folder``, ``campaign``,
    ``created``, ``median``, ``low``, ``high``, ``n``, ``state``, and ``mfu`` where it is known.
    ``gaps`` are those without a median. ``by_time``: whether the medians are of samples over the
    time of the steps, as they are where all points tell it, and by the rule else. Trends are in the
    order of their cells.

    :param entries: of :func:`entry`.
    """
    once, twice = without_copies(entries)
    cells: Dict[CellKey, List[Dict[str, Any]]] = {}
    missing: List[Tuple[Mapping[str, Any], Dict[str, Any]]] = []
    for campaign in once:
        origin = {key: campaign[key] for key in ("folder", "campaign", "created")}
        for point in campaign["points"]:
            conditions = point["conditions"]
            figures = {**origin, **{name: point[name] for name in _FIGURES}}
            if point.get("mfu") is not None:
                figures["mfu"] = point["mfu"]
            if point["median"] is None:
                missing.append((conditions, figures))
            else:
                figures["by_time"] = point["by_time"]
                trend = _trends(cells, conditions)[0]
                trend["points"].append(figures)
                trend["conditions"] = _joined(trend["conditions"], conditions)
    for conditions, figures in missing:
        for trend in _trends(cells, conditions, _MEASURED):
            trend["gaps"].append(figures)
            if not trend["points"]:
                trend["conditions"] = _joined(trend["conditions"], conditions)
    trends = [trend for of_cell in cells.values() for trend in of_cell]
    for trend in trends:
        by_time = [point.pop("by_time") for point in trend["points"]]
        trend["by_time"] = bool(by_time) and all(by_time)
        if trend["by_time"]:
            for point, figures in zip(trend["points"], by_time):
                point.update(figures)
    return sorted(trends, key=_place), twice


def without_copies(
    entries: Sequence[Campaign],
) -> Tuple[List[Campaign], List[Dict[str, str]]]:
    """Return each campaign once, in order of time, and ``folder`` and ``reason`` of the others."""
    seen: Dict[Tuple[str, str], str] = {}
    once, twice = [], []
    for entry in sorted(
        entries, key=lambda entry: (entry["created"], entry["campaign"], entry["folder"])
    ):
        first = seen.setdefault((entry["created"], entry["campaign"]), entry["folder"])
        if first == entry["folder"]:
            once.append(entry)
        else:
            twice.append({"folder": entry["folder"], "reason": f"the same campaign as in {first}"})
    return once, twice


def _trends(
    cells: Dict[CellKey, List[Dict[str, Any]]],
    conditions: Mapping[str, Any],
    unknown: Sequence[str] = (),
) -> List[Dict[str, Any]]:
    """Return the trends of these conditions, but for those that are unknown; a new one for none."""
    of_cell = cells.setdefault(cell_key(conditions), [])
    same = [
        trend
        for trend in of_cell
        if all(name in unknown for name, *_ in differing(conditions, trend["conditions"]))
    ]
    if not same:
        same = [{"conditions": conditions, "points": [], "gaps": []}]
        of_cell += same
    return same


def _joined(before: Mapping[str, Any], now: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the conditions of a trend with those that only its next campaign states."""
    known = {name: value for name, value in now.items() if value is not None}
    return {**now, **before, **known}


def _key(conditions: Mapping[str, Any]) -> str:
    return json.dumps({name: str(conditions[name]) for name in sorted(conditions)})


def _place(trend: Mapping[str, Any]) -> Tuple[Any, ...]:
    known = trend["conditions"]
    return (*cell_key(known).group, world_size(known["topology"]), known["topology"], _key(known))


def select(trends: Sequence[Dict[str, Any]], wanted: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """Return the trends whose conditions are among the wanted ones.

    :param wanted: by the name of a condition its values, a list or a text with commas; an empty
        one takes any.
    :raises ValueError: no such condition, or a value that no trend has.
    """
    chosen = {name: _values(given) for name, given in wanted.items()}
    for name, values in chosen.items():
        if name not in IDENTITY_KEYS:
            raise ValueError(f"cannot select by {name!r}: use one of {', '.join(IDENTITY_KEYS)}")
        there = sorted({str(trend["conditions"][name]) for trend in trends})
        missing = [value for value in values if value not in there]
        if missing:
            raise ValueError(f"no campaign has {name} {missing[0]}: there are {', '.join(there)}")
    return [
        trend
        for trend in trends
        if all(not v or str(trend["conditions"][k]) in v for k, v in chosen.items())
    ]


def _values(given: Any) -> List[str]:
    items = given if isinstance(given, (list, tuple)) else str(given).split(",")
    return [str(item).strip() for item in items if str(item).strip()]
