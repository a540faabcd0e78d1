"""Door to MU report_page: results.json and what lies beside it to report.html."""

from __future__ import annotations

import json
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.report.page import page
from ansible_collections.scalebench.core.plugins.module_utils.report.page_failures import (
    logs_to_quote,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import write_texts
from ansible_collections.scalebench.core.plugins.plugin_utils.page_html import page_html
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import (
    plan_and_records,
    plots,
    tails,
)


class ActionModule(ActionBase):
    """Runs on the controller alone, where the results are."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Write report.html and report.md where they differ; return the page."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "folder": {"type": "str", "required": True},
                "templates": {"type": "str", "required": True},
                "markdown": {"type": "str", "required": True},
                "log_dir": {"type": "str", "default": ""},
                "plots": {"type": "bool", "default": True},
            }
        )
        folder = Path(args["folder"]).expanduser()
        try:
            results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            if self._task.check_mode:
                # What the page would hold is not known; that it would be written is.
                text = {folder / "report.md": args["markdown"]}
                result.update(write_texts(text, True, self._task.diff))
                result.update(changed=True, report=str(folder / "report.html"))
                return result
            raise AnsibleActionFail(f"{folder}: no results.json there") from None
        logs = Path(args["log_dir"]).expanduser() if args["log_dir"] else folder
        plan, records = ({}, []) if args["log_dir"] else plan_and_records(folder)
        quoted = tails(logs, logs_to_quote(results))
        html = page_html(
            [Path(args["templates"])],
            "report.html.j2",
            page(results, plan, records, quoted),
            plots(folder) if args["plots"] else [],
        )
        path = folder / "report.html"
        texts = {path: html, folder / "report.md": args["markdown"]}
        result.update(write_texts(texts, self._task.check_mode, self._task.diff))
        result["report"] = str(path)
        return result
