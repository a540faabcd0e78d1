"""The plots of throughput, speed-up and efficiency. Needs matplotlib; no pyplot."""

from __future__ import annotations

from itertools import cycle

import matplotlib
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.report.plot_style import (
    COLOURS,
    FIGURES,
    MUTED,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import STYLE
from ansible_collections.scalebench.core.plugins.plugin_utils.scaling_axes import (
    devices_axis,
    no_values,
    value_axis,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.scaling_marks import (
    Series,
    draw_ideal,
    draw_measured,
    draw_values,
    points_of,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["scaling_figure"]

MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
MOST_SERIES = 24
MOST_LABELLED = 2


def scaling_figure(series: list[Series], figure: str) -> Figure:
    """Return one of ``FIGURES``, drawn.

    :param series: of ``plot_series.plot_series``.
    """
    shown = [one for one in series[:MOST_SERIES] if points_of(one, figure)]
    rows = -(-(len(shown) + 1) // 2)
    with matplotlib.rc_context(STYLE):
        plot = Figure(figsize=(5.5, 4.0 + 0.2 * rows), layout="constrained")
        axes = plot.subplots()
        drawn = draw_ideal(axes, shown, figure)
        for one, colour, marker in zip(shown, cycle(COLOURS), cycle(MARKERS)):
            drawn += draw_measured(axes, one, figure, colour, marker)
            if len(shown) <= MOST_LABELLED:
                draw_values(axes, one, figure)
        _label(axes, figure, series)
        devices_axis(axes, series[:MOST_SERIES])
        if not drawn:
            measured = any(one["points"] for one in series)
            why = "no speed of 1n1g to compare with" if measured else "no speed was measured"
            no_values(axes, why)
            _headings(axes, figure, "")
        else:
            value_axis(axes, drawn, figure)
            _headings(axes, figure, _key(series))
            place = {"loc": "outside lower center", "ncols": 1 if rows < 2 else 2}
            plot.legend(frameon=False, fontsize=9, **place)
    return plot


def _label(axes: Axes, figure: str, series: list[Series]) -> None:
    units = " or ".join(sorted({plain(one["unit"], 20) for one in series})) or "samples/s"
    axes.set_ylabel(
        {
            "throughput": f"throughput, {units}",
            "speedup": "speed-up over 1n1g",
            "efficiency": "efficiency, %: speed-up / devices",
        }[figure]
    )


def _key(series: list[Series]) -> str:
    said = "marker: median; bar: its 95 % interval; dots: repeats"
    if any(point["oversubscribed"] for one in series for point in one["points"]):
        said += "; hollow: oversubscribed"
    if len(series) > MOST_SERIES:
        said += f"; the first {MOST_SERIES} of {len(series)} groups"
    return said


def _headings(axes: Axes, figure: str, said: str) -> None:
    place = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(FIGURES[figure], (0, 1), xytext=(0, 22), fontsize=12, **place)
    axes.annotate(said, (0, 1), xytext=(0, 8), fontsize=9, color=MUTED, **place)
