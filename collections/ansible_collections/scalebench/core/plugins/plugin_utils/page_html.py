"""Renders report.html from its model, every value of it escaped."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

__all__ = ["page_html"]


def page_html(templates: Path, page: dict[str, Any], plots: list[str]) -> str:
    """Return the page, which holds all it needs.

    Ansible's own templating escapes nothing, hence an environment that escapes everything. Only
    the project's style and script and the drawings are taken as they are; the page's policy runs no
    other script than this one, by its hash.

    :param templates: the folder of report.html.j2, report.css and report.js.
    :param page: of ``report_page.page``.
    :param plots: SVGs, of ``inline_svg.inline_svg``.
    """
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    script = (templates / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return environment.get_template("report.html.j2").render(
        page=page,
        plots=[Markup(plot) for plot in plots],
        style=Markup((templates / "report.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )
