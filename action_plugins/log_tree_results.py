"""Computes results from any tree of training logs."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.published.against_published import (
    against_published,
)
from ansible_collections.scalebench.core.plugins.module_utils.published.cell_conditions import (
    check_stated,
)
from ansible_collections.scalebench.core.plugins.module_utils.report.text import originals_output
from ansible_collections.scalebench.core.plugins.module_utils.results.results import only_facts
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)
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


class ActionModule(ControllerAction):
    """Implements module log_tree_results."""

    ARGUMENTS: ClassVar = {
        "log_dir": {"type": "path", "required": True},
        "output_dir": {"type": "path", "required": True},
        "conditions": {"type": "dict", "default": {}},
        "published": {"type": "path", "default": ""},
        **ARGUMENTS,
    }

    def answer(self, args):
        """Write the results in all formats and the facts; return what the report needs."""
        logs, output = Path(args["log_dir"]), Path(args["output_dir"])
        stated = check_stated(args["conditions"])
        results = log_tree_results(args["log_dir"], args["strategy"], args["parameters"])
        if stated:
            results["provenance"]["options"]["conditions"] = stated
        if args["published"]:
            rows = read_published(Path(args["published"]))
            results["published"] = against_published(results, rows)
        results.update(verdicts(results, args, logs))
        saved = output / f"{results['campaign']}_result.json"
        files = {saved: json_text(only_facts(results), indent=None)}
        # Not str(saved), which drops the "./" that the reference scripts print.
        shown = f"{args['output_dir'].rstrip('/')}/{saved.name}"
        return {
            **answer(results, output, files, self._task.check_mode, self._task.diff, logs=logs),
            "gate": gate_answer(results),
            "output": originals_output(results, args["log_dir"], shown),
        }
