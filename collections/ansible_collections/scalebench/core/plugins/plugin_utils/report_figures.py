"""The plots of bus bandwidth by message size and of a step's parts. Needs matplotlib; no pyplot."""

from __future__ import annotations

from itertools import cycle

import matplotlib
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.records.results import (
    CollectiveGroup,
    Collectives,
    StepParts,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.collectives_text import (
    bus_bandwidth,
    group_title,
    size_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import (
    COLOURS,
    FIGURES,
    GREY,
    INK,
    MUTED,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.step_text import (
    DRAWN_PARTS,
    drawn_steps,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import (
    MARKERS,
    NUMBERS,
    STYLE,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

__all__ = ["message_figure", "step_figure"]

_MOST_GROUPS = 24
_COLOURS = dict(zip(DRAWN_PARTS, [*COLOURS[: len(DRAWN_PARTS) - 1], GREY], strict=True))
_LONGEST_LABEL = 60


def message_figure(found: Collectives) -> Figure:
    """Return the plot: a curve of medians for each operation and topology, dashed where fitted.

    A law that does not hold is not drawn.
    """
    groups = found["groups"][:_MOST_GROUPS]
    with matplotlib.rc_context(STYLE):
        plot = Figure(figsize=(5.5, 4.0 + 0.2 * len(groups)), layout="constrained")
        axes = plot.subplots()
        for one, colour, marker in zip(groups, cycle(COLOURS), cycle(MARKERS)):
            _draw_curve(axes, one, colour, marker)
        _size_axes(axes, groups)
        key = "marker: median of the repeats; dashed: the fitted law"
        more = len(found["groups"]) - len(groups)
        key += f"; {more} more in the table" if more else ""
        place = {"xycoords": "axes fraction", "textcoords": "offset points"}
        axes.annotate(FIGURES["busbw"], (0, 1), xytext=(0, 22), fontsize=12, **place)
        axes.annotate(key, (0, 1), xytext=(0, 8), fontsize=9, color=MUTED, **place)
        plot.legend(frameon=False, fontsize=9, loc="outside lower center")
    return plot


def _draw_curve(axes: Axes, one: CollectiveGroup, colour: str, marker: str) -> None:
    sizes = [size["bytes"] for size in one["sizes"]]
    rates = [bus_bandwidth(one, size["bytes"], size["seconds"]) for size in one["sizes"]]
    label = plain(group_title(one), _LONGEST_LABEL)
    axes.plot(sizes, rates, color=colour, marker=marker, markersize=6, linewidth=1.4, label=label)
    fit = one["fit"]
    if fit["holds"]:
        times = [fit["latency_seconds"] + fit["seconds_per_byte"] * size for size in sizes]
        fitted = [bus_bandwidth(one, size, time) for size, time in zip(sizes, times)]
        axes.plot(sizes, fitted, color=colour, linestyle=(0, (5, 3)), linewidth=1.2, alpha=0.6)


def _size_axes(axes: Axes, groups: list[CollectiveGroup]) -> None:
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
    axes.yaxis.set_major_formatter(NUMBERS)


def step_figure(parts: StepParts) -> Figure:
    """Return the plot: a bar for each topology, of parts beside each other that add up to the step.

    Parts below 0 stand left of 0, so that the others reach as far beyond the line that marks the
    measured step.
    """
    steps = drawn_steps(parts)
    with matplotlib.rc_context(STYLE):
        plot = Figure(figsize=(6.0, 2.8 + 0.32 * len(steps)), layout="constrained")
        axes = plot.subplots()
        above, below = [0.0] * len(steps), [0.0] * len(steps)
        for key, name in DRAWN_PARTS.items():
            if all(dict(cell)[key] is None for _, cell in steps):
                continue
            widths = [1000 * (dict(cell)[key] or 0.0) for _, cell in steps]
            starts = []
            for row, width in enumerate(widths):
                ends = above if width > 0 else below
                starts.append(ends[row])
                ends[row] += width
            axes.barh(
                range(len(steps)), widths, left=starts, height=0.62, color=_COLOURS[key], label=name
            )
        for row, (_, cell) in enumerate(steps):
            measured = 1000 * cell["step_seconds"]
            axes.plot([measured] * 2, [row - 0.42, row + 0.42], color=INK, linewidth=1.6)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_yticks(range(len(steps)), [plain(label, _LONGEST_LABEL) for label, _ in steps])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("ms")
        # From the edge of the figure: names of groups leave the axes less width than the key needs.
        left = {"xycoords": ("figure fraction", "axes fraction"), "textcoords": "offset points"}
        place = {**left, "xy": (0, 1)}
        axes.annotate(FIGURES["step_parts"], xytext=(6, 22), fontsize=12, **place)
        key = "line: the measured step; left of 0: by how much the other parts exceed it"
        axes.annotate(key, xytext=(6, 8), fontsize=9, color=MUTED, **place)
        plot.legend(frameon=False, fontsize=9, ncols=3, loc="outside lower center")
    return plot
