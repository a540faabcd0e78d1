"""Renders a page of results from its model, every value of it escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.history.history_text import (
    history_page,
    plots_shown,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.plots import (
    PAGE_COLOURS,
    inline_svg,
)
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

__all__ = ["history_html", "page_html"]


def page_html(
    folders: Sequence[Path], template: str, page: dict[str, Any], plots: Sequence[str]
) -> str:
    """Return the page as one self-contained HTML document.

    Ansible's own templating escapes nothing, hence an environment that escapes everything. Only
    the project's style and script and the drawings are inserted unescaped; the content security
    policy of the page allows no script but this one, by its hash.

    :param folders: where the template is, and page.html.j2, report.css and report.js.
    :param template: its name.
    :param page: of ``page.page`` or ``history_text.history_page``.
    :param plots: SVGs, of ``plots.inline_svg``.
    """
    loader = FileSystemLoader(folders)
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style, script = (
        loader.get_source(environment, name)[0] for name in ("report.css", "report.js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return environment.get_template(template).render(
        page=page,
        plots=[Markup(plot) for plot in plots],
        style=Markup(style),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )


def history_html(history: dict[str, Any], plots: dict[str, str], templates: Sequence[str]) -> str:
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
