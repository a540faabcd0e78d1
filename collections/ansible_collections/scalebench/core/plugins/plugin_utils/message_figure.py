"""The plot of bus bandwidth over message size. Needs matplotlib; no pyplot."""

from __future__ import annotations

from itertools import cycle

import matplotlib
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.records.results import (
    CollectiveGroup,
    Collectives,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.collectives_text import (
    bus_bandwidth,
    group_title,
    size_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import (
    COLOURS,
    FIGURES,
    MUTED,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import STYLE
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

__all__ = ["message_figure"]

_MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
_MOST_GROUPS = 24
_LONGEST_LABEL = 60


def message_figure(found: Collectives) -> Figure:
    """Return the plot: a curve of medians for each operation and topology, dashed where fitted.

    A law that does not hold is not drawn.
    """
    groups = found["groups"][:_MOST_GROUPS]
    with matplotlib.rc_context(STYLE):
        plot = Figure(figsize=(5.5, 4.0 + 0.2 * len(groups)), layout="constrained")
        axes = plot.subplots()
        for one, colour, marker in zip(groups, cycle(COLOURS), cycle(_MARKERS)):
            _draw(axes, one, colour, marker)
        _axes(axes, groups)
        key = "marker: median of the repeats; dashed: the fitted law"
        more = len(found["groups"]) - len(groups)
        key += f"; {more} more in the table" if more else ""
        place = {"xycoords": "axes fraction", "textcoords": "offset points"}
        axes.annotate(FIGURES["busbw"], (0, 1), xytext=(0, 22), fontsize=12, **place)
        axes.annotate(key, (0, 1), xytext=(0, 8), fontsize=9, color=MUTED, **place)
        plot.legend(frameon=False, fontsize=9, loc="outside lower center")
    return plot


def _draw(axes: Axes, one: CollectiveGroup, colour: str, marker: str) -> None:
    sizes = [size["bytes"] for size in one["sizes"]]
    rates = [bus_bandwidth(one, size["bytes"], size["seconds"]) for size in one["sizes"]]
    label = plain(group_title(one), _LONGEST_LABEL)
    axes.plot(sizes, rates, color=colour, marker=marker, markersize=6, linewidth=1.4, label=label)
    fit = one["fit"]
    if fit["holds"]:
        times = [fit["latency_seconds"] + fit["seconds_per_byte"] * size for size in sizes]
        fitted = [bus_bandwidth(one, size, time) for size, time in zip(sizes, times)]
        axes.plot(sizes, fitted, color=colour, linestyle=(0, (5, 3)), linewidth=1.2, alpha=0.6)


def _axes(axes: Axes, groups: list[CollectiveGroup]) -> None:
    sizes = sorted({size["bytes"] for one in groups for size in one["sizes"]})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("size of the message")
    axes.set_ylabel("bus bandwidth, MB/s")
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(round(value))))
    axes.tick_params(axis="x", labelrotation=45)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
