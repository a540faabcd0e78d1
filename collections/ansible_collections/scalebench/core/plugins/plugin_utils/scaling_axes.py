"""The axes of the scaling plots: device counts with their topologies, and plain numbers."""

from __future__ import annotations

from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.report.plot_style import MUTED
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

__all__ = ["devices_axis", "no_values", "value_axis"]


def devices_axis(axes: Axes, series: list[dict[str, Any]]) -> None:
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


def no_values(axes: Axes, why: str) -> None:
    """Say in an empty plot why it is empty."""
    axes.grid(visible=False)
    axes.yaxis.set_major_locator(FixedLocator([]))
    axes.text(0.5, 0.5, why, color=MUTED, transform=axes.transAxes, ha="center")


def value_axis(axes: Axes, values: list[float], figure: str) -> None:
    """Mark plain numbers, from nought for an efficiency, on a logarithmic scale else."""
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    if figure == "efficiency":
        axes.set_ylim(0, max(values) * 1.12)
    else:
        _logarithmic(axes, min(values) / 1.6, max(values) * 1.4, figure)


def _logarithmic(axes: Axes, low: float, high: float, figure: str) -> None:
    """Mark powers of two for a speed-up, 1, 2 and 5 of each power of ten for a throughput."""
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(NullLocator())
    steps = [2.0**power for power in range(-8, 20)]
    if figure == "throughput":
        fine = (1, 2, 5) if high / low > 16 else (1, 1.5, 2, 3, 4, 5, 7)
        steps = [base * 10.0**power for power in range(-4, 10) for base in fine]
    axes.yaxis.set_major_locator(FixedLocator([step for step in steps if low <= step <= high]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set_ylim(low, high)
