"""The titles and colours of the plots, in their own files and in a page."""

from __future__ import annotations

__all__ = ["COLOURS", "FIGURES", "GREY", "GRID", "INK", "MUTED", "PAGE_COLOURS"]

FIGURES = {
    "throughput": "Throughput",
    "speedup": "Speed-up over one device",
    "efficiency": "Scaling efficiency",
}
# Okabe and Ito's palette, which the common colour blindnesses can tell apart, with grey for black.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#5c5c5c")
INK, MUTED, GREY, GRID = "#222222", "#555555", "#777777", "#dddddd"

# The page gives each colour twice, for a light and for a dark ground: report.css.
PAGE_COLOURS = {
    **{colour: f"var(--series-{index})" for index, colour in enumerate(COLOURS, 1)},
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GREY: "var(--muted)",
    GRID: "var(--line)",
    "#ffffff": "var(--surface)",
}
