"""Draws throughput and speed-up over the number of devices as SVG. Needs matplotlib; no pyplot."""

from __future__ import annotations

import io
from html import escape
from itertools import cycle
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

__all__ = ["draw"]

Series = dict[str, Any]
# Okabe and Ito's palette, which the common colour blindnesses can tell apart; and a marker each.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
MOST_SERIES = 24
MOST_LABELLED = 2
TITLES = {"throughput": "Throughput", "speedup": "Speed-up over one device"}
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "scalebench",
    "font.family": "sans-serif",
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
}
IDEAL = {"linestyle": (0, (5, 3)), "linewidth": 1.2, "zorder": 1}
GREY = "#777777"


def draw(series: list[Series], figure: str, description: str) -> str:
    """Return the SVG of ``throughput`` or ``speedup``; the same input gives the same bytes."""
    shown = series[:MOST_SERIES]
    wide = len(shown) > 3
    with matplotlib.rc_context(STYLE):
        canvas = Figure(figsize=(9.2 if wide else 7.2, 4.8), layout="constrained")
        FigureCanvasSVG(canvas)
        axes = canvas.subplots()
        lines = _throughput_lines if figure == "throughput" else _speedup_lines
        values = lines(axes, shown)
        _devices_axis(axes, shown)
        _value_axis(axes, values, figure)
        _headings(axes, TITLES[figure], series, shown)
        if values:
            outside = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "fontsize": 9}
            axes.legend(frameon=False, **(outside if wide else {"loc": "upper left"}))
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None})
    return _accessible(text.getvalue(), TITLES[figure], description)


def _throughput_lines(axes: Axes, series: list[Series]) -> list[float]:
    """Draw medians and repeats in the unit of the logs, and the ideal line of each series."""
    drawn = [value for one in series for point in one["points"] for value in point["repeats"]]
    for one, colour, marker in zip(series, cycle(COLOURS), cycle(MARKERS)):
        places = [point["devices"] for point in one["points"]]
        if one["base"] and len(series) <= len(COLOURS):
            ideal = [one["base"] * count for count in places]
            axes.plot(places, ideal, color=colour, alpha=0.6, **IDEAL)
            drawn += ideal
        _measured(axes, one["points"], "median", 1.0, one["label"], colour, marker)
        _values(axes, one["points"], "median", colour, len(series))
    if any(one["base"] for one in series) and len(series) <= len(COLOURS):
        axes.plot([], [], color=GREY, label="ideal: median of 1n1g times devices", **IDEAL)
    units = sorted({one["unit"] for one in series})
    axes.set_ylabel(f"throughput, {' or '.join(units) or 'samples/s'}")
    return drawn


def _speedup_lines(axes: Axes, series: list[Series]) -> list[float]:
    """Draw medians and repeats over the median of one device, and the ideal line."""
    counts = sorted({point["devices"] for one in series for point in one["points"]})
    if any(one["base"] for one in series):
        axes.plot(counts, counts, color=GREY, label="ideal: as many times as devices", **IDEAL)
    axes.set_ylabel("speed-up: throughput / median of 1n1g")
    drawn = [float(count) for count in counts if any(one["base"] for one in series)]
    for one, colour, marker in zip(series, cycle(COLOURS), cycle(MARKERS)):
        points = [point for point in one["points"] if point["speedup"]]
        if points:
            _measured(axes, points, "speedup", one["base"], one["label"], colour, marker)
            _values(axes, points, "speedup", colour, len(series))
            drawn += [value / one["base"] for point in points for value in point["repeats"]]
    return drawn


def _measured(
    axes: Axes, points: list[Any], key: str, base: float, label: str, colour: str, marker: str
) -> None:
    """Draw the medians as a line with markers, hollow where oversubscribed, and each repeat."""
    places, medians = [p["devices"] for p in points], [p[key] for p in points]
    axes.plot(places, medians, color=colour, linewidth=1.4, zorder=3)
    for hollow in (False, True):
        some = [i for i, point in enumerate(points) if point["oversubscribed"] is hollow]
        fill = {"markerfacecolor": "white", "markeredgewidth": 1.5} if hollow else {}
        axes.plot(
            [places[i] for i in some],
            [medians[i] for i in some],
            linestyle="none",
            color=colour,
            marker=marker,
            markersize=7,
            zorder=4,
            **fill,
        )
    axes.plot([], [], color=colour, marker=marker, markersize=7, linewidth=1.4, label=label)
    # Beside the median, one after the other, so that none hides another.
    dots = [
        (point["devices"] * 2 ** (0.07 + 0.1 * index / len(point["repeats"])), value / base)
        for point in points
        for index, value in enumerate(point["repeats"])
    ]
    axes.plot(*zip(*dots), ".", color=colour, alpha=0.7, markersize=4.5, zorder=2)


def _values(axes: Axes, points: list[Any], key: str, colour: str, of: int) -> None:
    """Write the median at its marker, where few enough series leave room."""
    for point in points if of <= MOST_LABELLED else []:
        axes.annotate(
            f"{point[key]:.2f}",
            (point["devices"], point[key]),
            xytext=(3, -15),
            textcoords="offset points",
            fontsize=9,
            color=colour,
        )


def _devices_axis(axes: Axes, series: list[Series]) -> None:
    """Mark the counts that were measured, with their topologies."""
    places: dict[int, dict[str, None]] = {}
    for point in (point for one in series for point in one["points"]):
        places.setdefault(point["devices"], {})[point["topology"]] = None
    axes.set_xlabel("devices, and the topology: <nodes>n<devices per node>g")
    axes.set_xscale("log", base=2)
    counts = sorted(places) or [1]
    names = {count: "\n".join([str(count), *places.get(count, ())]) for count in counts}
    axes.xaxis.set_major_locator(FixedLocator(counts))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: names.get(round(value), "")))
    axes.set_xlim(counts[0] / 1.25, counts[-1] * 1.3)


def _value_axis(axes: Axes, values: list[float], figure: str) -> None:
    """Mark plain numbers: powers of two for a speed-up, 1, 2 and 5 of each power of ten else."""
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    if not values:
        axes.yaxis.set_major_locator(NullLocator())
        why = (
            "no speed was measured"
            if figure == "throughput"
            else "no speed of 1n1g to compare with"
        )
        axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", color="#555555")
        return
    steps = [2.0**power for power in range(-8, 20)]
    if figure == "throughput":
        fine = (1, 2, 5) if max(values) / min(values) > 8 else (1, 1.5, 2, 3, 4, 5, 7)
        steps = [base * 10.0**power for power in range(-4, 10) for base in fine]
    low, high = min(values) / 1.6, max(values) * 1.4
    axes.yaxis.set_major_locator(FixedLocator([step for step in steps if low <= step <= high]))
    axes.set_ylim(low, high)


def _headings(axes: Axes, title: str, series: list[Series], shown: list[Series]) -> None:
    said = "marker: median of the repeats; dots: each repeat"
    if any(point["oversubscribed"] for one in shown for point in one["points"]):
        said += "; hollow: oversubscribed"
    if len(series) > len(shown):
        said += f"; the first {len(shown)} of {len(series)} groups"
    place = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(title, (0, 1), xytext=(0, 24), fontsize=12.5, **place)
    axes.annotate(said, (0, 1), xytext=(0, 9), fontsize=9, color="#555555", **place)


def _accessible(svg: str, title: str, description: str) -> str:
    """Give the SVG the title and description that a screen reader reads."""
    start = svg.index("<svg")
    end = svg.index(">", start)
    head = svg[start:end] + ' role="img" aria-labelledby="title desc">'
    words = f'<title id="title">{escape(title)}</title><desc id="desc">{escape(description)}</desc>'
    return f"{svg[:start]}{head}\n {words}{svg[end + 1 :]}"
