"""Door to MU history: the results of all campaigns to trends, on the controller."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.history import build_history
from ansible_collections.scalebench.core.plugins.module_utils.history_text import (
    describe,
    history_csv,
    history_markdown,
    history_table,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.history_reading import read_campaigns
from ansible_collections.scalebench.core.plugins.plugin_utils.report_answer import json_text
from ansible_collections.scalebench.core.plugins.plugin_utils.written import write_texts


class ActionModule(ActionBase):
    """Runs on the controller alone, where the campaigns are."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Return the table; write history.md, history.csv, history.json and the plots."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "results_dir": {"type": "str", "required": True},
                "output_dir": {"type": "str", "required": True},
                "select": {"type": "dict", "default": {}},
                "plots": {"type": "bool", "default": True},
            }
        )
        results_dir = Path(args["results_dir"]).expanduser()
        output = Path(args["output_dir"]).expanduser()
        history = self._history(results_dir, args["select"])
        texts = {
            output / "history.json": json_text(history),
            output / "history.csv": history_csv(history),
            output / "history.md": history_markdown(history, args["plots"]),
            **(self._plots(history, output) if args["plots"] else {}),
        }
        result.update(
            write_texts(texts, self._task.check_mode, self._task.diff),
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
    def _plots(history, output):
        try:
            # Here, because only plots pay for it.
            from ansible_collections.scalebench.core.plugins.plugin_utils.trend_svg import (  # noqa: PLC0415
                draw_trend,
            )
        except ImportError as error:
            raise AnsibleActionFail(
                f"the plots need {error.name}: pip install -r requirements.txt, or leave them out"
                " with -e history_plots=false"
            ) from error
        return {
            output / trend["plot"]: draw_trend(trend, describe(trend))
            for trend in history["trends"]
            if len(trend["points"]) > 1
        }
