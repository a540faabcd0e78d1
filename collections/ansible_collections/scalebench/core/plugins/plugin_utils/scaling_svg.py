"""Draws throughput, speed-up and efficiency as SVG. Needs matplotlib; no pyplot."""

from __future__ import annotations

import io
from html import escape
from itertools import cycle
from typing import Any

import matplotlib
from ansible_collections.scalebench.core.plugins.module_utils.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.plot_style import (
    COLOURS,
    FIGURES,
    GREY,
    GRID,
    INK,
    MUTED,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.scaling_axes import (
    devices_axis,
    value_axis,
)
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

__all__ = ["draw"]

Series = dict[str, Any]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
MOST_SERIES = 24
MOST_LABELLED = 2
LONGEST_LABEL = 44
KEYS = {"throughput": "median", "speedup": "speedup", "efficiency": "speedup"}
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "scalebench",
    "font.family": "sans-serif",
    "font.size": 10,
    # A name may have dollar signs in it.
    "text.parse_math": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
}
IDEAL = {"linestyle": (0, (5, 3)), "linewidth": 1.2, "zorder": 1}


def draw(series: list[Series], figure: str, description: str) -> str:
    """Return the SVG of one of ``FIGURES``; the same input gives the same bytes.

    :param series: of ``plot_series.plot_series``.
    :param description: what a screen reader says of it.
    """
    shown = [one for one in series[:MOST_SERIES] if _points(one, figure)]
    rows = -(-(len(shown) + 1) // 2)
    with matplotlib.rc_context(STYLE):
        canvas = Figure(figsize=(5.5, 4.0 + 0.2 * rows), layout="constrained")
        FigureCanvasSVG(canvas)
        axes = canvas.subplots()
        drawn = _ideal(axes, shown, figure)
        for one, colour, marker in zip(shown, cycle(COLOURS), cycle(MARKERS)):
            drawn += _measured(axes, one, figure, colour, marker)
            if len(shown) <= MOST_LABELLED:
                _values(axes, one, figure)
        units = " or ".join(sorted({plain(one["unit"], 20) for one in series})) or "samples/s"
        axes.set_ylabel(
            {
                "throughput": f"throughput, {units}",
                "speedup": "speed-up over 1n1g",
                "efficiency": "efficiency, %: speed-up / devices",
            }[figure]
        )
        devices_axis(axes, series[:MOST_SERIES])
        value_axis(axes, drawn, figure)
        _headings(axes, figure, series)
        if drawn:
            place = {"loc": "outside lower center", "ncols": 1 if rows < 2 else 2}
            canvas.legend(frameon=False, fontsize=9, **place)
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None})
    return _accessible(text.getvalue(), FIGURES[figure], description)


def _points(one: Series, figure: str) -> list[dict[str, Any]]:
    return [point for point in one["points"] if point.get(KEYS[figure]) is not None]


def _factor(one: Series, point: dict[str, Any], figure: str) -> float:
    """Return what turns a throughput into the figure's value."""
    if figure == "throughput":
        return 1.0
    return 1 / one["base"] if figure == "speedup" else 100 / one["base"] / point["devices"]


def _ideal(axes: Axes, shown: list[Series], figure: str) -> list[float]:
    """Draw perfect scaling, for a throughput that of each series; return the values."""
    counts = sorted({point["devices"] for one in shown for point in one["points"]})
    if figure != "throughput":
        values = [float(count) if figure == "speedup" else 100.0 for count in counts]
        axes.plot(counts, values, color=GREY, label="ideal", **IDEAL)
        return values if shown else []
    based = [one for one in shown if one["base"]]
    # More lines than colours cannot be told apart.
    if not based or len(shown) > len(COLOURS):
        return []
    drawn = []
    for one, colour in zip(shown, COLOURS):
        if one["base"]:
            places = [point["devices"] for point in one["points"]]
            ideal = [one["base"] * count for count in places]
            axes.plot(places, ideal, color=colour, alpha=0.6, **IDEAL)
            drawn += ideal
    axes.plot([], [], color=GREY, label="ideal: median of 1n1g times devices", **IDEAL)
    return drawn


def _measured(axes: Axes, one: Series, figure: str, colour: str, marker: str) -> list[float]:
    """Draw medians as a line with markers, hollow where oversubscribed, intervals, each repeat."""
    points = _points(one, figure)
    places = [point["devices"] for point in points]
    medians = [point["median"] * _factor(one, point, figure) for point in points]
    axes.plot(places, medians, color=colour, linewidth=1.4, zorder=3)
    for hollow in (False, True):
        some = [i for i, point in enumerate(points) if point["oversubscribed"] is hollow]
        fill = {"markerfacecolor": "white", "markeredgewidth": 1.5} if hollow else {}
        at = ([places[i] for i in some], [medians[i] for i in some])
        axes.plot(*at, marker, color=colour, markersize=7, zorder=4, **fill)
    known = [point for point in points if point.get("interval")]
    low, high = (
        [point["interval"][end] * _factor(one, point, figure) for point in known] for end in (0, 1)
    )
    axes.vlines(
        [point["devices"] for point in known], low, high, color=colour, linewidth=3.5, alpha=0.45
    )
    label = plain(one["label"], LONGEST_LABEL)
    # matplotlib leaves a label out that starts with an underscore.
    shown = f" {label}" if label.startswith("_") else label
    axes.plot([], [], color=colour, marker=marker, markersize=7, linewidth=1.4, label=shown)
    # Beside the median, one after the other, so that none hides another.
    dots = [
        (
            point["devices"] * 2 ** (0.07 + 0.1 * index / len(point["repeats"])),
            value * _factor(one, point, figure),
        )
        for point in points
        for index, value in enumerate(point["repeats"])
    ]
    axes.plot(*zip(*dots), ".", color=colour, alpha=0.7, markersize=4.5, zorder=2)
    return medians + [value for _, value in dots]


def _values(axes: Axes, one: Series, figure: str) -> None:
    """Write the median at its marker, where few enough series leave room."""
    for point in _points(one, figure):
        shown = f"{point[KEYS[figure]]:.2f}"
        if figure == "efficiency":
            shown = f"{100 * point['speedup'] / point['devices']:.2f}"
        place = (point["devices"], point["median"] * _factor(one, point, figure))
        below = {"xytext": (3, -15), "textcoords": "offset points", "fontsize": 9}
        axes.annotate(shown, place, color=INK, **below)


def _headings(axes: Axes, figure: str, series: list[Series]) -> None:
    said = "marker: median; bar: its 95 % interval; dots: repeats"
    if any(point["oversubscribed"] for one in series for point in one["points"]):
        said += "; hollow: oversubscribed"
    if len(series) > MOST_SERIES:
        said += f"; the first {MOST_SERIES} of {len(series)} groups"
    place = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(FIGURES[figure], (0, 1), xytext=(0, 22), fontsize=12, **place)
    axes.annotate(said, (0, 1), xytext=(0, 8), fontsize=9, color=MUTED, **place)


def _accessible(svg: str, title: str, description: str) -> str:
    """Give the SVG the title and description that a screen reader reads."""
    start = svg.index("<svg")
    end = svg.index(">", start)
    head = svg[start:end] + ' role="img" aria-labelledby="title desc">'
    said = escape(plain(description, 4000))
    words = f'<title id="title">{escape(title)}</title><desc id="desc">{said}</desc>'
    return f"{svg[:start]}{head}\n {words}{svg[end + 1 :]}"
