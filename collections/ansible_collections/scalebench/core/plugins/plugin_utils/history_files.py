"""The files of a history that need files: its page, and the plots that an earlier one left."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.history.history_page import (
    history_page,
    plots_shown,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.inline_svg import inline_svg
from ansible_collections.scalebench.core.plugins.module_utils.report.plot_style import PAGE_COLOURS
from ansible_collections.scalebench.core.plugins.plugin_utils.page_html import page_html

__all__ = ["history_html", "plots_in"]

# As history.build_history names them.
_PLOT = re.compile(r"trend-[A-Za-z0-9.-]*-[0-9a-f]{8}\.svg", re.ASCII)


def history_html(history: dict[str, Any], plots: dict[str, str], templates: list[str]) -> str:
    """Return history.html.

    :param history: of ``history.build_history``.
    :param plots: the SVG of each trend that has one, by file name; empty for a page without plots.
    :param templates: the folders of history.html.j2 and of page.html.j2.
    """
    shown = [name for name in plots_shown(history) if name in plots]
    inline = [
        inline_svg(plots[name], f"plot-{number}-", PAGE_COLOURS)
        for number, name in enumerate(shown, 1)
    ]
    folders = [Path(folder).expanduser() for folder in templates]
    return page_html(folders, "history.html.j2", history_page(history, shown), inline)


def plots_in(folder: Path) -> list[Path]:
    """Return the plots of trends that lie in a folder; none where there is no folder."""
    return sorted(
        path for path in folder.glob("trend-*.svg") if _PLOT.fullmatch(path.name) and path.is_file()
    )
