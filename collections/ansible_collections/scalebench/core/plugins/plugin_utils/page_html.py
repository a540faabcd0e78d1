"""Renders a page of results from its model, every value of it escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

__all__ = ["page_html"]


def page_html(
    folders: Sequence[Path], template: str, page: dict[str, Any], plots: Sequence[str]
) -> str:
    """Return the page, which holds all it needs.

    Ansible's own templating escapes nothing, hence an environment that escapes everything. Only
    the project's style and script and the drawings are taken as they are; the page's policy runs no
    other script than this one, by its hash.

    :param folders: where the template is, and page.html.j2, report.css and report.js.
    :param template: its name.
    :param page: of ``page.page`` or ``history_page.history_page``.
    :param plots: SVGs, of ``inline_svg.inline_svg``.
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
