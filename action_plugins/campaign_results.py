"""Computes the results of a campaign from its files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.published.against_published import (
    against_published,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_reading import (
    campaign_results,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.published_reading import (
    read_published,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.report_answer import answer
from ansible_collections.scalebench.core.plugins.plugin_utils.verdicts import (
    ARGUMENTS,
    gate_answer,
    verdicts,
)


class ActionModule(ControllerAction):
    """Implements module campaign_results."""

    ARGUMENTS: ClassVar = {
        "directory": {"type": "path", "required": True},
        "published": {"type": "path", "default": ""},
        **ARGUMENTS,
    }

    def answer(self, args):
        """Write the results in all formats; return what the report needs."""
        folder = Path(args["directory"])
        if self._task.check_mode and not folder.exists():
            return {"skipped": True, "skip_reason": f"{folder}: nothing was measured yet"}
        results = campaign_results(folder, args["strategy"], args["parameters"])
        if args["published"]:
            rows = read_published(Path(args["published"]))
            results["published"] = against_published(results, rows)
        results.update(verdicts(results, args, folder))
        written = answer(results, folder, {}, self._task.check_mode, self._task.diff)
        return {**written, "gate": gate_answer(results)}
