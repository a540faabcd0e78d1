"""Door to MU logtree, tree_records and results: any tree of logs to results on the controller."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.logtree import group_logs
from ansible_collections.scalebench.core.plugins.module_utils.report_text import originals_output
from ansible_collections.scalebench.core.plugins.module_utils.results import (
    build_results,
    only_facts,
)
from ansible_collections.scalebench.core.plugins.module_utils.strategies import parameters_of
from ansible_collections.scalebench.core.plugins.module_utils.tree_records import (
    as_record,
    expected_of_path,
    no_facts_record,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.log_files import (
    files_below,
    read_all,
    read_facts,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.report_answer import answer, json_text


def record_of(log, folder, strategy, parameters):
    """Return the run record of one log, with the reason where it gives no facts."""
    try:
        given = {"devices": log["nodes"] * log["devices_per_node"], **parameters}
        if log["run"]:
            given["run"] = log["run"]
        expected = partial(expected_of_path, log)
        facts = read_facts(folder / log["path"], strategy, given, expected)
    except OSError as error:
        return no_facts_record(log, error.strerror or str(error))
    except ValueError as error:
        return no_facts_record(log, str(error))
    return as_record(log, facts)


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
            }
        )
        folder = Path(args["log_dir"]).expanduser()
        strategy, parameters = args["strategy"], args["parameters"]
        try:
            parameters_of("mean_after_warmup" if strategy == "auto" else strategy, parameters)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        if not folder.is_dir():
            what = "is a file, not a folder" if folder.exists() else "is not there"
            raise AnsibleActionFail(f"log_dir {args['log_dir']}: {what}; name a folder of logs")
        paths, problems = files_below(folder)
        tree = group_logs(paths, os.path.abspath(folder))
        if not tree["logs"]:
            raise AnsibleActionFail(self._no_logs(args["log_dir"], paths, tree))
        read = partial(record_of, folder=folder, strategy=strategy, parameters=parameters)
        name = Path(os.path.abspath(folder)).name or "logs"
        plan = {"campaign": name, "options": {"log_dir": args["log_dir"], "strategy": strategy}}
        results = build_results(
            plan, list(read_all(tree["logs"], read)), tree["unmatched"] + problems
        )
        output = Path(args["output_dir"]).expanduser()
        saved = output / f"{name}_result.json"
        files = {saved: json_text(only_facts(results), indent=None)}
        result.update(answer(results, output, files, self._task.check_mode, self._task.diff))
        # A path without its folder is written as the originals did: ./result/x.
        shown = f"{args['output_dir'].rstrip('/')}/{saved.name}"
        result["output"] = originals_output(results, args["log_dir"], shown)
        return result

    @staticmethod
    def _no_logs(log_dir, paths, tree):
        if not paths:
            return f"log_dir {log_dir}: the folder is empty"
        said = "; ".join(f"{item['path']}: {item['reason']}" for item in tree["unmatched"][:5])
        return f"log_dir {log_dir}: none of its {len(paths)} files is a log by its name. {said}"
