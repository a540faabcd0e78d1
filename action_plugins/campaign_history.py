"""Computes the trends of all campaigns and writes them as a page, Markdown, CSV, JSON and plots."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.history.history import build_history
from ansible_collections.scalebench.core.plugins.module_utils.history.history_text import (
    history_csv,
    history_markdown,
    history_table,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
    needs_matplotlib,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import write_only
from ansible_collections.scalebench.core.plugins.plugin_utils.page_html import history_html
from ansible_collections.scalebench.core.plugins.plugin_utils.report_files import json_text
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import read_campaigns

# As history.build_history names them.
PLOT = re.compile(r"trend-[A-Za-z0-9.-]*-[0-9a-f]{8}\.svg", re.ASCII)


class ActionModule(ControllerAction):
    """Implements module campaign_history."""

    ARGUMENTS: ClassVar = {
        "results_dir": {"type": "path", "required": True},
        "output_dir": {"type": "path", "required": True},
        "templates": {"type": "list", "elements": "path", "required": True},
        "select": {"type": "dict", "default": {}},
        "plots": {"type": "bool", "default": True},
    }

    def answer(self, args):
        """Write the files that differ; return the table and the change points."""
        output = Path(args["output_dir"])
        history = _history(Path(args["results_dir"]), args["select"])
        plots = _plots(history) if args["plots"] else {}
        texts = {
            "history.html": history_html(history, plots, args["templates"]),
            "history.json": json_text(history),
            "history.csv": history_csv(history),
            "history.md": history_markdown(history, args["plots"]),
            **plots,
        }
        contents = {output / name: text.encode("utf-8") for name, text in texts.items()}
        stale = [
            path
            for path in sorted(output.glob("trend-*.svg"))
            if PLOT.fullmatch(path.name) and path.is_file() and path not in contents
        ]
        return {
            **write_only(contents, stale, self._task.check_mode, self._task.diff),
            "table": history_table(history),
            "campaigns": history["campaigns"],
            "left_out": history["left_out"],
            "changes": [
                {"cell": trend["label"], **change}
                for trend in history["trends"]
                for change in trend["changes"]
            ],
        }


def _history(folder, selection):
    try:
        entries, left_out = read_campaigns(folder)
    except OSError as error:
        raise ValueError(f"{folder}: cannot be read: {error.strerror}") from None
    if not entries:
        reasons = "; ".join(
            f"{campaign['folder']}: {campaign['reason']}" for campaign in left_out[:5]
        )
        raise ValueError(f"{folder}: no campaign with results there. {reasons}".strip())
    return build_history(entries, left_out, selection)


def _plots(history):
    with needs_matplotlib("history_plots"):
        # Imported here, because matplotlib is slow to import and optional.
        from ansible_collections.scalebench.core.plugins.plugin_utils.trend_figure import (  # noqa: PLC0415
            trend_plots,
        )
    return trend_plots(history)
