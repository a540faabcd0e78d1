"""What the plots of a report show, and the same in words for those who cannot see them."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.layout.rows import cell_groups, labels

__all__ = ["describe", "plot_series"]

Series = Dict[str, Any]
_MOST_DESCRIBED = 6
# Title and unit; a throughput has that of its series.
_FIGURES = {
    "throughput": ("Median throughput", ""),
    "speedup": ("Speed-up", "times 1n1g"),
    "efficiency": ("Scaling efficiency", "%"),
}


def _points(cells: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    measured = [cell for cell in cells if cell["median_speed"] is not None]
    return [
        {
            "topology": cell["topology"],
            "devices": cell["devices"],
            "repeats": [r["throughput"] for r in cell["repeats"] if r["throughput"] is not None],
            "median": cell["median_speed"],
            "interval": _interval(cell),
            "speedup": cell["speedup"],
            "oversubscribed": bool(cell["oversubscribed"]),
        }
        for cell in sorted(measured, key=lambda cell: (cell["devices"], cell["nodes"]))
    ]


def _interval(cell: Mapping[str, Any]) -> Optional[List[float]]:
    interval = cell["interval"] or {"low": None}
    return None if interval["low"] is None else [interval["low"], interval["high"]]


def plot_series(results: Mapping[str, Any]) -> List[Series]:
    """Return one series a group that was measured: label, unit, base, points.

    A point: topology, devices (how many), repeats, median and its interval [low, high] or None (in
    ``unit``), speedup, oversubscribed. ``base``: the median of one device, where the ideal line
    starts, or None.
    """
    groups = cell_groups(results)
    found = []
    for label, cells in zip(labels(groups), groups):
        points = _points(cells)
        one = [point["median"] for point in points if point["topology"] == "1n1g"]
        unit = next((cell["unit"] for cell in cells if cell["unit"]), "samples/s")
        if points:
            base = one[0] if one else None
            found.append({"label": label, "unit": unit, "base": base, "points": points})
    return found


def describe(series: Sequence[Series], figure: str) -> str:
    """Return the text alternative of ``throughput``, ``speedup`` or ``efficiency``.

    It names the medians that are drawn.
    """
    title, unit = _FIGURES[figure]
    said = []
    for one in series[:_MOST_DESCRIBED]:
        drawn = [(point["topology"], _value(point, figure)) for point in one["points"]]
        values = ", ".join(f"{place} {value:.2f}" for place, value in drawn if value is not None)
        if values:
            said.append(f"{one['label']}, {unit or one['unit']}: {values}")
    if said and len(series) > _MOST_DESCRIBED:
        said.append(f"{len(series) - _MOST_DESCRIBED} more in the tables")
    return f"{title} by topology. " + ("; ".join(said) + "." if said else "Nothing was measured.")


def _value(point: Mapping[str, Any], figure: str) -> Optional[float]:
    value: Optional[float] = point["median" if figure == "throughput" else "speedup"]
    devices: int = point["devices"]
    return 100 * value / devices if value is not None and figure == "efficiency" else value
