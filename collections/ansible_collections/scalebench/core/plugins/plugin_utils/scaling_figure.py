"""The plots of a report over devices. Needs matplotlib; no pyplot."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import matplotlib
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.layout.table import shown as written
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import (
    COLOURS,
    FIGURES,
    GREY,
    INK,
    MUTED,
    value_of,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import (
    MARKERS,
    NUMBERS,
    STYLE,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

__all__ = ["scaling_figure"]


def _devices_axis(axes: Axes, series: list[dict[str, Any]]) -> None:
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


def _no_values(axes: Axes, why: str) -> None:
    """Write into an empty plot why it is empty."""
    axes.grid(visible=False)
    axes.yaxis.set_major_locator(FixedLocator([]))
    axes.text(0.5, 0.5, why, color=MUTED, transform=axes.transAxes, ha="center")


def _value_axis(axes: Axes, values: list[float], figure: str) -> None:
    """Mark plain numbers: from zero for an efficiency, else on a logarithmic scale."""
    axes.yaxis.set_major_formatter(NUMBERS)
    if figure == "efficiency":
        axes.set_ylim(0, max(values) * 1.12)
    else:
        _logarithmic(axes, min(values) / 1.6, max(values) * 1.4, figure)


def _logarithmic(axes: Axes, low: float, high: float, figure: str) -> None:
    """Mark powers of two for a speed-up, 1, 2 and 5 of each power of ten for what has a unit."""
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(NullLocator())
    steps = [2.0**power for power in range(-12, 20)]
    if figure != "speedup":
        fine = (1, 2, 5) if high / low > 16 else (1, 1.5, 2, 3, 4, 5, 7)
        steps = [base * 10.0**power for power in range(-6, 13) for base in fine]
    axes.yaxis.set_major_locator(FixedLocator([step for step in steps if low <= step <= high]))
    axes.yaxis.set_major_formatter(NUMBERS)
    axes.set_ylim(low, high)


Series = dict[str, Any]
LONGEST_LABEL = 44
# What a point needs to be in a figure.
KEYS = {
    "throughput": "median",
    "speedup": "speedup",
    "efficiency": "speedup",
    "step_time": "step",
}
IDEAL = {"linestyle": (0, (5, 3)), "linewidth": 1.2, "zorder": 1}


def _points_of(one: Series, figure: str) -> list[dict[str, Any]]:
    """Return the points of a series that a figure shows."""
    return [point for point in one["points"] if point.get(KEYS[figure]) is not None]


def _values(one: Series, point: dict[str, Any], figure: str) -> dict[str, Any]:
    """Return median, interval (or None) and repeats of a point as the figure shows them."""
    if figure == "step_time":
        return point["step"]
    factor = 1.0
    if figure != "throughput":
        factor = 1 / one["base"]
    if figure == "efficiency":
        factor *= 100 * one["base_devices"] / point["devices"]
    return {
        "median": factor * point["median"],
        "interval": point["interval"] and [factor * bound for bound in point["interval"]],
        "repeats": [factor * value for value in point["repeats"]],
    }


def _ideal(one: Series, figure: str) -> dict[int, float]:
    """Return the ideal throughput, or time of a step in ms, by devices; nothing without a base."""
    points = _points_of(one, figure)
    base = [point for point in points if point["topology"] == one["base_topology"]]
    if not base:
        return {}
    start = _values(one, base[0], figure)["median"]
    counts = [point["devices"] for point in points]
    if figure == "throughput":
        return {count: start * count / one["base_devices"] for count in counts}
    if not one["strong"]:
        return dict.fromkeys(counts, start)
    return {count: start * one["base_devices"] / count for count in counts}


def _draw_ideal(axes: Axes, shown: list[Series], figure: str) -> list[float]:
    """Draw perfect scaling, for a throughput and a time that of each series; return the values."""
    if figure in ("speedup", "efficiency"):
        return _draw_common_ideal(axes, shown, figure)
    ideals = [_ideal(one, figure) for one in shown]
    # More lines than colours cannot be distinguished.
    if not any(ideals) or len(shown) > len(COLOURS):
        return []
    drawn: list[float] = []
    for ideal, colour in zip(ideals, COLOURS):
        if ideal:
            axes.plot([*ideal], [*ideal.values()], color=colour, alpha=0.6, **IDEAL)
            drawn += ideal.values()
    words = "ideal: median of 1n1g times devices"
    if figure == "step_time":
        words = "ideal: 1/devices; in weak scaling the same"
    elif any(one["strong"] for one in shown):
        words = "ideal: in proportion to the devices"
    axes.plot([], [], color=GREY, label=words, **IDEAL)
    return drawn


def _draw_common_ideal(axes: Axes, shown: list[Series], figure: str) -> list[float]:
    """Draw one line for all series that are relative to the same number of devices."""
    drawn: list[float] = []
    for base in sorted({one["base_devices"] for one in shown}):
        own = [one for one in shown if one["base_devices"] == base]
        counts = sorted({point["devices"] for one in own for point in one["points"]})
        values = [count / base if figure == "speedup" else 100.0 for count in counts]
        axes.plot(counts, values, color=GREY, label=None if drawn else "ideal", **IDEAL)
        drawn += values
    return drawn


def _draw_measured(axes: Axes, one: Series, figure: str, colour: str, marker: str) -> list[float]:
    """Draw medians as a line with markers, hollow where oversubscribed, intervals, each repeat."""
    points = _points_of(one, figure)
    places = [point["devices"] for point in points]
    values = [_values(one, point, figure) for point in points]
    medians = [value["median"] for value in values]
    axes.plot(places, medians, color=colour, linewidth=1.4, zorder=3)
    for hollow in (False, True):
        some = [i for i, point in enumerate(points) if point["oversubscribed"] is hollow]
        fill = {"markerfacecolor": "white", "markeredgewidth": 1.5} if hollow else {}
        at = ([places[i] for i in some], [medians[i] for i in some])
        axes.plot(*at, marker, color=colour, markersize=7, zorder=4, **fill)
    bars = [(at, *value["interval"]) for at, value in zip(places, values) if value["interval"]]
    if bars:
        axes.vlines(*zip(*bars), color=colour, linewidth=3.5, alpha=0.45)
    label = plain(one["label"], LONGEST_LABEL)
    # matplotlib leaves a label out that starts with an underscore.
    shown = f" {label}" if label.startswith("_") else label
    axes.plot([], [], color=colour, marker=marker, markersize=7, linewidth=1.4, label=shown)
    # Beside the median, one after the other, so that none hides another.
    dots = [
        (place * 2 ** (0.07 + 0.1 * index / len(value["repeats"])), each)
        for place, value in zip(places, values)
        for index, each in enumerate(value["repeats"])
    ]
    axes.plot(*zip(*dots), ".", color=colour, alpha=0.7, markersize=4.5, zorder=2)
    return medians + [value for _, value in dots]


def _draw_values(axes: Axes, one: Series, figure: str) -> None:
    """Write the median at its marker, where few enough series leave room."""
    for point in _points_of(one, figure):
        place = (point["devices"], _values(one, point, figure)["median"])
        below = {"xytext": (3, -15), "textcoords": "offset points", "fontsize": 9}
        # As in the tables, whose speed-up is a quotient of rounded medians.
        axes.annotate(written(value_of(point, figure), 2), place, color=INK, **below)


MOST_SERIES = 24
MOST_LABELLED = 2


def scaling_figure(series: list[Series], figure: str) -> Figure:
    """Return one of ``FIGURES``, drawn.

    :param series: of ``plots.plot_series``.
    """
    shown = [one for one in series[:MOST_SERIES] if _points_of(one, figure)]
    rows = -(-(len(shown) + 1) // 2)
    with matplotlib.rc_context(STYLE):
        plot = Figure(figsize=(5.5, 4.0 + 0.2 * rows), layout="constrained")
        axes = plot.subplots()
        drawn = _draw_ideal(axes, shown, figure)
        for one, colour, marker in zip(shown, cycle(COLOURS), cycle(MARKERS)):
            drawn += _draw_measured(axes, one, figure, colour, marker)
            if len(shown) <= MOST_LABELLED:
                _draw_values(axes, one, figure)
        _label(axes, figure, series)
        _devices_axis(axes, series[:MOST_SERIES])
        if not drawn:
            measured = any(one["points"] for one in series)
            why = (
                f"no {_bases(series)} throughput to compare with"
                if measured
                else "no throughput was measured"
            )
            _no_values(axes, why)
            _headings(axes, figure, "")
        else:
            _value_axis(axes, drawn, figure)
            _headings(axes, figure, _key(series))
            place = {"loc": "outside lower center", "ncols": 1 if rows < 2 else 2}
            plot.legend(frameon=False, fontsize=9, **place)
    return plot


def _label(axes: Axes, figure: str, series: list[Series]) -> None:
    units = " or ".join(sorted({plain(one["unit"], 20) for one in series})) or "samples/s"
    axes.set_ylabel(
        {
            "throughput": f"throughput, {units}",
            "speedup": f"speed-up over {_bases(series)}",
            "efficiency": "efficiency, %: speed-up / devices",
            "step_time": "time of a step, ms",
        }[figure]
    )


def _bases(series: list[Series]) -> str:
    """Return the topologies that the speed-ups are relative to."""
    return " or ".join(dict.fromkeys(one["base_topology"] for one in series)) or "1n1g"


def _key(series: list[Series]) -> str:
    key = "marker: median; bar: its interval; dots: repeats"
    if any(point["oversubscribed"] for one in series for point in one["points"]):
        key += "; hollow: oversubscribed"
    if len(series) > MOST_SERIES:
        key += f"; the first {MOST_SERIES} of {len(series)} groups"
    return key


def _headings(axes: Axes, figure: str, key: str) -> None:
    place = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(FIGURES[figure], (0, 1), xytext=(0, 22), fontsize=12, **place)
    axes.annotate(key, (0, 1), xytext=(0, 8), fontsize=9, color=MUTED, **place)
