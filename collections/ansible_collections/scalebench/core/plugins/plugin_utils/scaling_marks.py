"""What stands on the axes of a scaling plot: the ideal lines, medians, intervals and repeats."""

from __future__ import annotations

from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.report.plot_style import (
    COLOURS,
    GREY,
    INK,
)
from matplotlib.axes import Axes

__all__ = ["Series", "draw_ideal", "draw_measured", "draw_values", "points_of"]

Series = dict[str, Any]
LONGEST_LABEL = 44
KEYS = {"throughput": "median", "speedup": "speedup", "efficiency": "speedup"}
IDEAL = {"linestyle": (0, (5, 3)), "linewidth": 1.2, "zorder": 1}


def points_of(one: Series, figure: str) -> list[dict[str, Any]]:
    """Return the points of a series that a figure shows."""
    return [point for point in one["points"] if point.get(KEYS[figure]) is not None]


def _factor(one: Series, point: dict[str, Any], figure: str) -> float:
    """Return what turns a throughput into the figure's value."""
    if figure == "throughput":
        return 1.0
    return 1 / one["base"] if figure == "speedup" else 100 / one["base"] / point["devices"]


def draw_ideal(axes: Axes, shown: list[Series], figure: str) -> list[float]:
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


def draw_measured(axes: Axes, one: Series, figure: str, colour: str, marker: str) -> list[float]:
    """Draw medians as a line with markers, hollow where oversubscribed, intervals, each repeat."""
    points = points_of(one, figure)
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


def draw_values(axes: Axes, one: Series, figure: str) -> None:
    """Write the median at its marker, where few enough series leave room."""
    for point in points_of(one, figure):
        shown = f"{point[KEYS[figure]]:.2f}"
        if figure == "efficiency":
            shown = f"{100 * point['speedup'] / point['devices']:.2f}"
        place = (point["devices"], point["median"] * _factor(one, point, figure))
        below = {"xytext": (3, -15), "textcoords": "offset points", "fontsize": 9}
        axes.annotate(shown, place, color=INK, **below)
