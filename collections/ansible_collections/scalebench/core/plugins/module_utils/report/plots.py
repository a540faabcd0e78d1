"""The plots of a report: titles, colours, what they show, their text alternatives, inline SVG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..layout.groups import cell_groups, labels
from ..layout.table import shown
from ..records.factors import is_strong
from ..records.results import MeasuredCell, Results
from ..results.scaling import base_topology
from ..results.strong_scaling import step_times
from ..stats.statistics import median, median_interval
from ..topology import world_size

__all__ = [
    "COLOURS",
    "FIGURES",
    "GREY",
    "GRID",
    "INK",
    "MUTED",
    "PAGE_COLOURS",
    "describe",
    "drawn_figures",
    "inline_svg",
    "plot_series",
    "value_of",
]

FIGURES = {
    "throughput": "Throughput",
    "speedup": "Speed-up",
    "efficiency": "Scaling efficiency",
    "step_time": "Time of a step",
    "busbw": "Bus bandwidth over message size",
    "step_parts": "Parts of a step",
}
# Okabe and Ito's palette, which the common colour blindnesses can tell apart, with grey for black.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#5c5c5c")
INK, MUTED, GREY, GRID = "#222222", "#555555", "#777777", "#dddddd"

# The page gives each colour twice, for a light and for a dark ground: report.css.
PAGE_COLOURS = {
    **{colour: f"var(--series-{index})" for index, colour in enumerate(COLOURS, 1)},
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GREY: "var(--muted)",
    GRID: "var(--line)",
    "#ffffff": "var(--surface)",
}

Series = Dict[str, Any]
_MOST_DESCRIBED = 6
# Those over the topologies: title and unit, in which a series puts its own values.
_FIGURES = {
    "throughput": ("Median throughput", "{unit}"),
    "speedup": ("Speed-up", "times {base_topology}"),
    "efficiency": ("Scaling efficiency", "%"),
    "step_time": ("Time of a step", "ms"),
}


def _points(cells: Sequence[MeasuredCell]) -> List[Dict[str, Any]]:
    measured = [cell for cell in cells if cell["median_speed"] is not None]
    times = step_times(measured)
    return [
        {
            "topology": cell["topology"],
            "devices": cell["devices"],
            "repeats": [r["throughput"] for r in cell["repeats"] if r["throughput"] is not None],
            "median": cell["median_speed"],
            "interval": _interval(cell),
            "speedup": cell["speedup"],
            "efficiency": cell["efficiency"],
            "step": _step(times.get(cell["topology"])),
            "oversubscribed": bool(cell["oversubscribed"]),
        }
        for cell in sorted(measured, key=lambda cell: (cell["devices"], cell["nodes"]))
    ]


def _step(seconds: Optional[Sequence[float]]) -> Optional[Dict[str, Any]]:
    """Return the time of a step of the repeats in ms, with its median and interval."""
    if not seconds:
        return None
    ms = [1000 * second for second in seconds]
    found = median_interval(ms)
    interval = None if found["low"] is None else [found["low"], found["high"]]
    return {"repeats": ms, "median": median(ms), "interval": interval}


def _interval(cell: MeasuredCell) -> Optional[List[float]]:
    interval = cell["interval"]
    if not interval or interval["low"] is None or interval["high"] is None:
        return None
    return [interval["low"], interval["high"]]


def plot_series(results: Results) -> List[Series]:
    """Return one series per measured group: label, unit, strong, base, points.

    A point: topology, devices (how many), repeats, median and its interval [low, high] or None (in
    ``unit``), step (the same three of the time of a step in ms, or None), speedup, efficiency (a
    share), oversubscribed.
    ``base``: the median of ``base_topology`` with ``base_devices``, where the ideal line starts, or
    None.
    """
    groups = cell_groups(results)
    series = []
    for label, cells in zip(labels(groups), groups):
        points = _points(cells)
        start = base_topology(cells)
        base = next((point["median"] for point in points if point["topology"] == start), None)
        unit = next((cell["unit"] for cell in cells if cell["unit"]), "samples/s")
        if points:
            of_base = {"base": base, "base_topology": start, "base_devices": world_size(start)}
            mode = {"strong": is_strong(cells[0])}
            series.append({"label": label, "unit": unit, **mode, **of_base, "points": points})
    return series


def drawn_figures(series: Sequence[Series]) -> List[str]:
    """Return the figures over the topologies; the time of a step is one of strong scaling."""
    with_steps = any(one["strong"] for one in series)
    return [figure for figure in _FIGURES if with_steps or figure != "step_time"]


def describe(series: Sequence[Series], figure: str) -> str:
    """Return the text alternative of one of ``drawn_figures``.

    It names the medians that are drawn.
    """
    title, unit = _FIGURES[figure]
    groups = []
    for one in series[:_MOST_DESCRIBED]:
        drawn = [(point["topology"], value_of(point, figure)) for point in one["points"]]
        values = ", ".join(
            f"{place} {shown(value, 2)}" for place, value in drawn if value is not None
        )
        if values:
            groups.append(f"{one['label']}, {unit.format(**one)}: {values}")
    if groups and len(series) > _MOST_DESCRIBED:
        groups.append(f"{len(series) - _MOST_DESCRIBED} more in the tables")
    nothing = f"There is no {title.lower()}." if series else "Nothing was measured."
    return f"{title} by topology. " + ("; ".join(groups) + "." if groups else nothing)


def value_of(point: Mapping[str, Any], figure: str) -> Optional[float]:
    """Return what tables have of a point, an efficiency in percent; None for nothing."""
    if figure == "throughput":
        return float(point["median"])
    if figure == "step_time":
        return point["step"] and float(point["step"]["median"])
    value: Optional[float] = point[figure]
    return 100 * value if value is not None and figure == "efficiency" else value


_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_NAMED = ("aria-labelledby",)
_LEFT_OUT = (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style")
_COLOUR = re.compile(r"#[0-9a-f]{6}")


def inline_svg(text: str, prefix: str, colours: Mapping[str, str]) -> str:
    """Return the ``<svg>`` element to stand in a page that has other SVGs too.

    Only attributes change, not the text of the drawing. ``metadata`` and ``style`` are removed: a
    style would apply to the whole page.

    :param prefix: put before every id and every reference to one.
    :param colours: from ``#rrggbb``, lower case, to the colour of the page.
    :raises ValueError: the text is no SVG.
    """
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise ValueError(f"no SVG: {error}") from None
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    for parent in root.iter():
        for child in [child for child in parent if child.tag in _LEFT_OUT]:
            parent.remove(child)
        for name, value in parent.attrib.items():
            parent.set(name, _attribute(name, value, prefix, colours))
    # The page gives the size; the view box keeps the shape.
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    return ET.tostring(root, encoding="unicode")


def _attribute(name: str, value: str, prefix: str, colours: Mapping[str, str]) -> str:
    if name == "id":
        return prefix + value
    if name in _NAMED:
        return " ".join(prefix + one for one in value.split())
    if name == f"{{{_XLINK}}}href":
        return value.replace("#", f"#{prefix}", 1)
    if "url(#" in value:
        value = value.replace("url(#", f"url(#{prefix}")
    return _COLOUR.sub(lambda match: colours.get(match.group(), match.group()), value)
