"""Door to the drawing of throughput and speed-up; runs on the controller, which has matplotlib."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.layout.sections import in_markdown
from ansible_collections.scalebench.core.plugins.module_utils.report.plot_series import describe
from ansible_collections.scalebench.core.plugins.module_utils.report.plot_style import FIGURES
from ansible_collections.scalebench.core.plugins.plugin_utils.files import write_only


class ActionModule(ActionBase):
    """Writes throughput, speed-up and efficiency as SVG, and as PNG if asked, where they differ."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Draw, write, return what was written."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "series": {"type": "list", "elements": "dict", "required": True},
                "folder": {"type": "str", "required": True},
                "png": {"type": "bool", "default": False},
            }
        )
        try:
            # Here, because only this task pays for it.
            from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import (  # noqa: PLC0415
                png_bytes,
                svg_text,
            )
            from ansible_collections.scalebench.core.plugins.plugin_utils.scaling_figure import (  # noqa: PLC0415
                scaling_figure,
            )
        except ImportError as error:
            raise AnsibleActionFail(
                f"the plots need {error.name}: pip install -r requirements.txt, or leave them out"
                " with -e report_plots=false"
            ) from error
        folder = Path(args["folder"]).expanduser()
        series = args["series"]
        described = {figure: describe(series, figure) for figure in FIGURES}
        contents: dict[Path, bytes] = {}
        for figure, title in FIGURES.items():
            plot = scaling_figure(series, figure)
            svg = svg_text(plot, title, described[figure])
            contents[folder / f"{figure}.svg"] = svg.encode("utf-8")
            if args["png"]:
                contents[folder / f"{figure}.png"] = png_bytes(plot)
        stale = [path for name in FIGURES if (path := folder / f"{name}.png") not in contents]
        result.update(write_only(contents, stale, self._task.check_mode, self._task.diff))
        result["described"] = {figure: in_markdown(text) for figure, text in described.items()}
        return result
