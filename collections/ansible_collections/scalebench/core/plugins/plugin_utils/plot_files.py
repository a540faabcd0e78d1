"""A plot as its files: an SVG with its text alternative, and a PNG. Needs matplotlib; no pyplot."""

from __future__ import annotations

import io
from html import escape

import matplotlib
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import GRID, INK
from matplotlib.figure import Figure

__all__ = ["MARKERS", "NUMBERS", "STYLE", "png_bytes", "svg_text"]

# The numbers of an axis: 2,000,000 and no power of ten, which nobody can compare with the tables.
NUMBERS = "{x:,.10g}"
# A print in black and white tells the lines of a plot apart by these.
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]

# For matplotlib.rc_context, while a plot is drawn and while it is written: ticks are made late.
# Upon matplotlib's own defaults, so that a matplotlibrc of the user changes nothing.
STYLE = {
    **{name: value for name, value in matplotlib.rcParamsDefault.items() if name != "backend"},
    "svg.fonttype": "none",
    "svg.hashsalt": "scalebench",
    "font.family": "sans-serif",
    "font.size": 10,
    # A name may have dollar signs in it.
    "text.parse_math": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
}
_DOTS_PER_INCH = 144


def svg_text(plot: Figure, title: str, description: str) -> str:
    """Return a plot as SVG; the same plot gives the same text.

    :param title: what a screen reader names it.
    :param description: what a screen reader says of it.
    """
    text = io.StringIO()
    with matplotlib.rc_context(STYLE):
        plot.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    start = svg.index("<svg")
    end = svg.index(">", start)
    head = svg[start:end] + ' role="img" aria-labelledby="title desc">'
    words = (
        f'<title id="title">{escape(plain(title))}</title>'
        f'<desc id="desc">{escape(plain(description, 4000))}</desc>'
    )
    return f"{svg[:start]}{head}\n {words}{svg[end + 1 :]}"


def png_bytes(plot: Figure) -> bytes:
    """Return a plot as PNG of 144 dots per inch; the same plot gives the same bytes."""
    content = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        # The version of matplotlib would be another file for the same figures.
        plot.savefig(content, format="png", dpi=_DOTS_PER_INCH, metadata={"Software": None})
    return content.getvalue()
