"""Draws throughput, speed-up and efficiency over the topologies."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.layout.sections import in_markdown
from ansible_collections.scalebench.core.plugins.module_utils.report.plot_series import describe
from ansible_collections.scalebench.core.plugins.module_utils.report.plot_style import FIGURES
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
    needs_matplotlib,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.files import write_only


class ActionModule(ControllerAction):
    """Implements module scaling_plot."""

    ARGUMENTS: ClassVar = {
        "series": {"type": "list", "elements": "dict", "required": True},
        "folder": {"type": "path", "required": True},
        "png": {"type": "bool", "default": False},
    }

    def answer(self, args):
        """Write the plots that differ, remove PNGs that are not wanted; return descriptions."""
        with needs_matplotlib("report_plots"):
            # Imported here, because matplotlib is slow to import and optional.
            from ansible_collections.scalebench.core.plugins.plugin_utils.plot_files import (  # noqa: PLC0415
                png_bytes,
                svg_text,
            )
            from ansible_collections.scalebench.core.plugins.plugin_utils.scaling_figure import (  # noqa: PLC0415
                scaling_figure,
            )
        folder, series = Path(args["folder"]), args["series"]
        described = {figure: describe(series, figure) for figure in FIGURES}
        contents: dict[Path, bytes] = {}
        for figure, title in FIGURES.items():
            plot = scaling_figure(series, figure)
            svg = svg_text(plot, title, described[figure])
            contents[folder / f"{figure}.svg"] = svg.encode("utf-8")
            if args["png"]:
                contents[folder / f"{figure}.png"] = png_bytes(plot)
        stale = [path for name in FIGURES if (path := folder / f"{name}.png") not in contents]
        return {
            **write_only(contents, stale, self._task.check_mode, self._task.diff),
            "described": {figure: in_markdown(text) for figure, text in described.items()},
        }
