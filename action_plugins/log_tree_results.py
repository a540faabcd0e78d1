"""Door to MU logtree, tree_records and results: any tree of logs to results on the controller."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.published.against_published import (
    against_published,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.cell_conditions import (
    check_stated,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.text import originals_output
from ansible_collections.scalebench.core.plugins.module_utils.results.results import only_facts
from ansible_collections.scalebench.core.plugins.plugin_utils.log_tree_reading import (
    log_tree_results,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.published_reading import (
    read_published,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.report_answer import answer, json_text
from ansible_collections.scalebench.core.plugins.plugin_utils.verdicts import (
    ARGUMENTS,
    gate_answer,
    verdicts,
)


class ActionModule(ActionBase):
    """Runs on the controller alone, where the logs are."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Return what the report needs; write results.json, results.csv and the facts."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "log_dir": {"type": "str", "required": True},
                "output_dir": {"type": "str", "required": True},
                "strategy": {"type": "str", "default": "auto"},
                "parameters": {"type": "dict", "default": {}},
                **ARGUMENTS,
                "conditions": {"type": "dict", "default": {}},
                "published": {"type": "str", "default": ""},
            }
        )
        logs = Path(args["log_dir"]).expanduser()
        try:
            stated = check_stated(args["conditions"])
            results = log_tree_results(args["log_dir"], args["strategy"], args["parameters"])
            if stated:
                results["provenance"]["options"]["conditions"] = stated
            if args["published"]:
                results["published"] = against_published(
                    results, read_published(Path(args["published"]))
                )
            results.update(verdicts(results, args, logs))
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        output = Path(args["output_dir"]).expanduser()
        saved = output / f"{results['campaign']}_result.json"
        files = {saved: json_text(only_facts(results), indent=None)}
        result.update(
            answer(results, output, files, self._task.check_mode, self._task.diff, logs=logs)
        )
        result["gate"] = gate_answer(results)
        # A path without its folder is written as the originals did: ./result/x.
        shown = f"{args['output_dir'].rstrip('/')}/{saved.name}"
        result["output"] = originals_output(results, args["log_dir"], shown)
        return result
