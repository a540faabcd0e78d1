"""Door to MU results: the files of a campaign to its results, on the controller."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.published.against_published import (
    against_published,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.campaign_reading import (
    campaign_results,
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


class ActionModule(ActionBase):
    """Runs on the controller alone, where the campaign's folder is."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Return what the report needs; write results.json and results.csv into the folder."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "directory": {"type": "str", "required": True},
                "strategy": {"type": "str", "default": "auto"},
                "parameters": {"type": "dict", "default": {}},
                **ARGUMENTS,
                "published": {"type": "str", "default": ""},
            }
        )
        folder = Path(args["directory"]).expanduser()
        if self._task.check_mode and not folder.exists():
            result.update(skipped=True, skip_reason=f"{folder}: nothing was measured yet")
            return result
        try:
            results = campaign_results(folder, args["strategy"], args["parameters"])
            if args["published"]:
                results["published"] = against_published(
                    results, read_published(Path(args["published"]))
                )
            results.update(verdicts(results, args, folder))
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        result.update(answer(results, folder, {}, self._task.check_mode, self._task.diff))
        result["gate"] = gate_answer(results)
        return result
