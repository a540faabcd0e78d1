"""The plot of one cell's trend over the campaigns. Needs matplotlib; no pyplot."""

from __future__ import annotations

import textwrap
from typing import Any

import matplotlib
from ansible_collections.scalebench.core.plugins.module_utils.history.history_text import describe
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import (
    COLOURS,
    MUTED,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import (
    NUMBERS,
    STYLE,
    svg_text,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter

__all__ = ["trend_figure", "trend_plots"]

MEDIAN, OUTLIER, CHANGE = COLOURS[:3]
MOST_DATES = 5
LINE = 64


def trend_plots(history: dict[str, Any]) -> dict[str, str]:
    """Return by file name the SVG of each trend of two campaigns or more.

    :param history: of ``history.build_history``.
    """
    return {
        trend["plot"]: svg_text(trend_figure(trend), trend["label"], describe(trend))
        for trend in history["trends"]
        if len(trend["points"]) > 1
    }


def trend_figure(trend: dict[str, Any]) -> Figure:
    """Return the plot of a trend of ``history.build_history``."""
    with matplotlib.rc_context(STYLE):
        plot = Figure(figsize=(5.5, 3.7), layout="constrained")
        axes = plot.subplots()
        _medians(axes, trend)
        _levels(axes, trend)
        _dates(axes, trend["points"])
        axes.set_ylabel(f"throughput, {plain(trend['conditions']['unit'] or 'samples/s', 20)}")
        axes.yaxis.set_major_formatter(NUMBERS)
        title = textwrap.wrap(plain(trend["label"], 2 * LINE), LINE)
        # The page has it as a heading, and finds it here by its name.
        axes.set_title("\n".join(title), loc="left", fontsize=10, gid="heading")
        plot.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return plot


def _medians(axes: Axes, trend: dict[str, Any]) -> None:
    """Draw each median with its interval, outliers as hollow diamonds."""
    points = trend["points"]
    places = range(len(points))
    known = [index for index in places if points[index]["low"] is not None]
    axes.vlines(
        known,
        [points[index]["low"] for index in known],
        [points[index]["high"] for index in known],
        color=MEDIAN,
        linewidth=1.2,
        alpha=0.6,
        label="interval" if known else None,
    )
    usual = [index for index in places if index not in trend["outliers"]]
    axes.plot(
        usual,
        [points[index]["median"] for index in usual],
        "o",
        color=MEDIAN,
        markersize=5,
        label="median of the repeats",
    )
    if trend["outliers"]:
        axes.plot(
            trend["outliers"],
            [points[index]["median"] for index in trend["outliers"]],
            "D",
            color=OUTLIER,
            markerfacecolor="white",
            markersize=7,
            markeredgewidth=1.6,
            label="outlier",
        )


def _levels(axes: Axes, trend: dict[str, Any]) -> None:
    """Draw the median of each level, and a dashed line where it changed."""
    for number, level in enumerate(trend["levels"]):
        axes.hlines(
            level["median"],
            level["start"] - 0.4,
            level["stop"] - 0.6,
            color=MUTED,
            linewidth=1.4,
            label=None if number else "level",
        )
    for number, change in enumerate(trend["changes"]):
        axes.axvline(
            change["index"] - 0.5,
            color=CHANGE,
            linestyle=(0, (5, 3)),
            linewidth=1.4,
            label=None if number else "change point",
        )


def _dates(axes: Axes, points: list[dict[str, Any]]) -> None:
    """Name the campaigns by their date; those of one day by the time as well."""
    step = -(-len(points) // MOST_DATES)
    days = [point["created"][:10] for point in points]
    times = [f"{day}\n{point['created'][11:16]}" for day, point in zip(days, points, strict=True)]
    names = days if len(set(days)) == len(days) else times
    axes.xaxis.set_major_locator(FixedLocator(range(0, len(points), step)))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda place, _: names[round(place)] if 0 <= place < len(names) else "")
    )
    axes.tick_params(axis="x", labelsize=8.5)
    axes.set_xlim(-0.6, len(points) - 0.4)
    axes.set_xlabel("campaigns in order of time, UTC")
