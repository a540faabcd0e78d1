"""Writes report.html and report.md from results.json and the files beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.page_failures import (
    logs_to_quote,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import write_texts
from ansible_collections.scalebench.core.plugins.plugin_utils.page_html import page_html
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import (
    plan_and_records,
    plots,
    tails,
)


class ActionModule(ControllerAction):
    """Implements module report_page."""

    ARGUMENTS: ClassVar = {
        "folder": {"type": "path", "required": True},
        "templates": {"type": "path", "required": True},
        "markdown": {"type": "str", "required": True},
        "log_dir": {"type": "path", "default": ""},
        "plots": {"type": "bool", "default": True},
    }

    def answer(self, args):
        """Write the two files if they differ; return their paths."""
        folder = Path(args["folder"])
        report = folder / "report.html"
        texts = {folder / "report.md": args["markdown"]}
        if (folder / "results.json").is_file():
            texts = {report: _html(folder, args), **texts}
        elif not self._task.check_mode:
            raise ValueError(f"{folder}: no results.json there")
        written = write_texts(texts, self._task.check_mode, self._task.diff)
        # In check mode a page without results.json is not known, but it would be written.
        changed = written["changed"] or report not in texts
        return {**written, "changed": changed, "report": str(report)}


def _html(folder, args):
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    logs = Path(args["log_dir"] or folder)
    plan, records = ({}, []) if args["log_dir"] else plan_and_records(folder)
    return page_html(
        [Path(args["templates"])],
        "report.html.j2",
        page(results, plan, records, tails(logs, logs_to_quote(results))),
        plots(folder) if args["plots"] else [],
    )
