"""Door to the drawing of throughput and speed-up; runs on the controller, which has matplotlib."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.plot_series import describe
from ansible_collections.scalebench.core.plugins.module_utils.plot_style import FIGURES
from ansible_collections.scalebench.core.plugins.module_utils.sections import in_markdown
from ansible_collections.scalebench.core.plugins.plugin_utils.written import write_texts


class ActionModule(ActionBase):
    """Writes throughput.svg, speedup.svg and efficiency.svg where they differ."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Draw, write, return what was written."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "series": {"type": "list", "elements": "dict", "required": True},
                "described": {"type": "dict", "default": {}},
                "folder": {"type": "str", "required": True},
            }
        )
        try:
            # Here, because only this task pays for it.
            from ansible_collections.scalebench.core.plugins.plugin_utils.scaling_svg import (  # noqa: PLC0415
                draw,
            )
        except ImportError as error:
            raise AnsibleActionFail(
                f"the plots need {error.name}: pip install -r requirements.txt, or leave them out"
                " with -e report_plots=false"
            ) from error
        folder = Path(args["folder"]).expanduser()
        series, words = args["series"], args["described"]
        described = {figure: words.get(figure) or describe(series, figure) for figure in FIGURES}
        texts = {
            folder / f"{figure}.svg": draw(series, figure, described[figure]) for figure in FIGURES
        }
        result.update(write_texts(texts, self._task.check_mode, self._task.diff))
        result["described"] = {figure: in_markdown(text) for figure, text in described.items()}
        return result
