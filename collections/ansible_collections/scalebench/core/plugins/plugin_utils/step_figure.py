"""The plot of the parts of a step by topology. Needs matplotlib; no pyplot."""

from __future__ import annotations

import matplotlib
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.records.results import StepParts
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
from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import STYLE
from matplotlib.figure import Figure

__all__ = ["step_figure"]

_COLOURS = dict(zip(DRAWN_PARTS, [*COLOURS[: len(DRAWN_PARTS) - 1], GREY], strict=True))
_LONGEST_LABEL = 60


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
