"""Door to MU history: the results of all campaigns to trends, on the controller."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.history.history import build_history
from ansible_collections.scalebench.core.plugins.module_utils.history.history_text import (
    history_csv,
    history_markdown,
    history_table,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import write_only
from ansible_collections.scalebench.core.plugins.plugin_utils.history_files import (
    history_html,
    plots_in,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.history_reading import read_campaigns
from ansible_collections.scalebench.core.plugins.plugin_utils.report_answer import json_text


class ActionModule(ActionBase):
    """Runs on the controller alone, where the campaigns are."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Return the table; write the page, history.md, .csv, .json and the plots."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "results_dir": {"type": "str", "required": True},
                "output_dir": {"type": "str", "required": True},
                "templates": {"type": "list", "elements": "str", "required": True},
                "select": {"type": "dict", "default": {}},
                "plots": {"type": "bool", "default": True},
            }
        )
        results_dir = Path(args["results_dir"]).expanduser()
        output = Path(args["output_dir"]).expanduser()
        history = self._history(results_dir, args["select"])
        plots = self._plots(history) if args["plots"] else {}
        texts = {
            "history.html": history_html(history, plots, args["templates"]),
            "history.json": json_text(history),
            "history.csv": history_csv(history),
            "history.md": history_markdown(history, args["plots"]),
            **plots,
        }
        contents = {output / name: text.encode("utf-8") for name, text in texts.items()}
        stale = [path for path in plots_in(output) if path not in contents]
        result.update(
            write_only(contents, stale, self._task.check_mode, self._task.diff),
            table=history_table(history),
            campaigns=history["campaigns"],
            left_out=history["left_out"],
            changes=[
                {"cell": trend["label"], **change}
                for trend in history["trends"]
                for change in trend["changes"]
            ],
        )
        return result

    @staticmethod
    def _history(folder, chosen):
        try:
            entries, left_out = read_campaigns(folder)
            if not entries:
                said = "; ".join(f"{one['folder']}: {one['reason']}" for one in left_out[:5])
                raise AnsibleActionFail(f"{folder}: no campaign with results there. {said}".strip())
            return build_history(entries, left_out, chosen)
        except OSError as error:
            raise AnsibleActionFail(f"{folder}: cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None

    @staticmethod
    def _plots(history):
        try:
            # Here, because only plots pay for it.
            from ansible_collections.scalebench.core.plugins.plugin_utils.trend_figure import (  # noqa: PLC0415
                trend_plots,
            )
        except ImportError as error:
            raise AnsibleActionFail(
                f"the plots need {error.name}: pip install -r requirements.txt, or leave them out"
                " with -e history_plots=false"
            ) from error
        return trend_plots(history)
