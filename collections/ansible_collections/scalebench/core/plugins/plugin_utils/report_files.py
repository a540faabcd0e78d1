"""What report.html needs beside results.json: plan, run records, plots, last lines of logs."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import (
    RULES,
    Redactor,
)
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import last_lines
from ansible_collections.scalebench.core.plugins.module_utils.records.runs import check_cell
from ansible_collections.scalebench.core.plugins.module_utils.report.inline_svg import inline_svg
from ansible_collections.scalebench.core.plugins.module_utils.report.plot_style import (
    FIGURES,
    PAGE_COLOURS,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_files import records

__all__ = ["plan_and_records", "plots", "tails"]

# Enough for twenty lines; of a log of gigabytes no more is read.
_LAST_BYTES = 1 << 16
_NODE = re.compile(r"([\w.-]+): ")


def plan_and_records(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return plan.json and the run records, without what is damaged; nothing of a tree of logs."""
    try:
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        cells = [cell for cell in plan["cells"] if _is_cell(cell)]
    except (OSError, ValueError, KeyError, TypeError):
        return {}, []
    found = [one for one in records(folder).values() if _is_cell(one.get("cell"))]
    return {"cells": cells}, [one for one in found if isinstance(one.get("repeat"), int)]


def _is_cell(cell: Any) -> bool:
    try:
        check_cell(cell)
    except ValueError:
        return False
    return True


def plots(folder: Path) -> list[str]:
    """Return the SVGs that module scaling_plot drew, made parts of a page."""
    return [
        inline_svg(path.read_text("utf-8"), f"{figure}-", PAGE_COLOURS)
        for figure in FIGURES
        if (path := folder / f"{figure}.svg").is_file()
    ]


def tails(folder: Path, wanted: list[dict[str, str]]) -> dict[str, list[str]]:
    """Return by log its last lines without secrets, or those of the node that its reason names.

    :param wanted: of ``page_failures.logs_to_quote``; paths relative to ``folder``.
    """
    found = {}
    for one in wanted:
        for path in _outputs(folder, one["log"], one["reason"]):
            lines = last_lines(_last_text(path))
            if lines:
                found[one["log"]] = lines
                break
    return found


def _outputs(folder: Path, log: str, reason: str) -> Iterator[Path]:
    relative = os.path.normpath(log)
    # A record that somebody made up must not put another file of this machine on the page.
    if os.path.isabs(relative) or relative.startswith(".."):
        return
    path = folder / relative
    node = _NODE.match(reason)
    if node:
        yield path.with_suffix(f".{node.group(1)}.out")
    yield path


def _last_text(path: Path) -> str:
    """Return the end of a file as text; nothing of what is no regular file or cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return ""
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST_BYTES))
            text = file.read(_LAST_BYTES)
    except (OSError, ValueError):
        return ""
    return b"".join(Redactor(RULES).redact([text])).decode("utf-8", "replace")
