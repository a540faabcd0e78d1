"""Draws the trend of one cell over the campaigns as SVG. Needs matplotlib; no pyplot."""

from __future__ import annotations

import io
from html import escape
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter

__all__ = ["draw_trend"]

# Three of Okabe and Ito's colours, which the common colour blindnesses can tell apart.
MEDIAN, OUTLIER, CHANGE = "#0072B2", "#D55E00", "#009E73"
MOST_DATES = 8
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "scalebench",
    "font.family": "sans-serif",
    "font.size": 10.5,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
}


def draw_trend(trend: dict[str, Any], description: str) -> str:
    """Return the SVG of a trend of ``history.build_history``; the same trend, the same bytes."""
    with matplotlib.rc_context(STYLE):
        canvas = Figure(figsize=(8.4, 4.0), layout="constrained")
        FigureCanvasSVG(canvas)
        axes = canvas.subplots()
        _medians(axes, trend)
        _levels(axes, trend)
        _dates(axes, trend["points"])
        axes.set_ylabel(f"throughput, {trend['conditions']['unit'] or 'samples/s'}")
        axes.set_title(_cut(trend["label"], 90), loc="left", fontsize=11.5)
        axes.legend(frameon=False, fontsize=9, loc="best")
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None})
    return _accessible(text.getvalue(), trend["label"], description)


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
        label="95 % interval" if known else None,
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
            color="#555555",
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


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _accessible(svg: str, title: str, description: str) -> str:
    """Give the SVG the title and description that a screen reader reads."""
    start = svg.index("<svg")
    end = svg.index(">", start)
    head = svg[start:end] + ' role="img" aria-labelledby="title desc">'
    words = f'<title id="title">{escape(title)}</title><desc id="desc">{escape(description)}</desc>'
    return f"{svg[:start]}{head}\n {words}{svg[end + 1 :]}"
