"""Door to MU results: the files of a campaign to its results, on the controller."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.plan import expected_identity
from ansible_collections.scalebench.core.plugins.module_utils.result_cells import check_cell
from ansible_collections.scalebench.core.plugins.module_utils.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.strategies import parameters_of
from ansible_collections.scalebench.core.plugins.plugin_utils.log_files import (
    files_below,
    read_all,
    read_facts,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.record_files import attempts
from ansible_collections.scalebench.core.plugins.plugin_utils.report_answer import answer


def checked(cells):
    """Refuse cells that a damaged file holds."""
    for cell in cells:
        check_cell(cell)


def parameters_for(cell, strategy, parameters):
    """Return the cell's own warm-up and iterations under what the user gave."""
    known = parameters_of(strategy)
    own = {key: cell[key] for key in ("warmup", "iterations") if cell.get(key) and key in known}
    return {**own, **parameters}


def read_again(run, folder, strategy, parameters):
    """Return the record with the facts that its log gives now; a log that is gone changes none."""
    if run.get("ending") != "ok":
        return run
    cell = run["cell"]
    given = parameters_for(cell, strategy, parameters)
    try:
        path = folder / run["log"]
        facts = read_facts(path, strategy, given, lambda _reader: expected_identity(cell))
    except FileNotFoundError:
        return dict(run, log_is_gone=True)
    except OSError as error:
        return dict(run, facts=None, ending="invalid", reason=error.strerror or str(error))
    except ValueError as error:
        return dict(run, facts=None, ending="invalid", reason=str(error))
    return dict(run, facts=facts)


class ActionModule(ActionBase):
    """Runs on the controller alone, where the campaign's folder is."""

    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        """Return what the report needs; write results.json and results.csv into the folder."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "directory": {"type": "str", "required": True},
                "strategy": {"type": "str", "default": "mean_after_warmup"},
                "parameters": {"type": "dict", "default": {}},
            }
        )
        folder = Path(args["directory"]).expanduser()
        if self._task.check_mode and not folder.exists():
            result.update(skipped=True, skip_reason=f"{folder}: nothing was measured yet")
            return result
        plan, runs, problems = self._load(folder)
        try:
            parameters_of(args["strategy"], args["parameters"])
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        again = partial(
            read_again, folder=folder, strategy=args["strategy"], parameters=args["parameters"]
        )
        runs = list(read_all(runs, again))
        problems += [
            {"path": run["log"], "reason": "it is gone; its figures are those of the run record"}
            for run in runs
            if run.get("log_is_gone")
        ]
        results = build_results(plan, runs, problems, attempts(folder))
        result.update(answer(results, folder, {}, self._task.check_mode, self._task.diff))
        return result

    def _load(self, folder):
        """Return plan, run records, and what is in the folder and is neither.

        The records alone make a report: a plan that cannot be read is a problem to state.
        """
        paths, problems = files_below(folder) if folder.is_dir() else ([], [])
        plan = {"campaign": Path(os.path.abspath(folder)).name}
        records = sorted(path for path in paths if path.endswith(".run.json"))
        runs = []
        for path in ["plan.json", *records]:
            try:
                read = json.loads((folder / path).read_text(encoding="utf-8"))
                if path == "plan.json":
                    checked(read["cells"])
                    plan.update(read)
                else:
                    checked([read["cell"]])
                    log = f"{path[: -len('.run.json')]}.log"
                    facts = dict(read["facts"]) if read.get("facts") else None
                    runs.append({**read, "log": log, "repeat": int(read["repeat"]), "facts": facts})
            except FileNotFoundError:
                problems.append({"path": path, "reason": "it is not there"})
            except (OSError, ValueError, KeyError, TypeError) as error:
                problems.append({"path": path, "reason": f"it cannot be read: {error}"})
        if not runs and "cells" not in plan:
            raise AnsibleActionFail(self._nothing(folder, problems))
        known = {run["log"] for run in runs}
        problems += [
            {"path": path, "reason": "no run record beside it: the repeat did not end"}
            for path in paths
            if path.endswith(".log") and path not in known
        ]
        return plan, runs, problems

    @staticmethod
    def _nothing(folder, problems):
        if folder.is_dir():
            said = "; ".join(f"{item['path']}: {item['reason']}" for item in problems)
            return f"{folder} is no campaign: {said}"
        others = sorted(path.parent.name for path in folder.parent.glob("*/plan.json"))
        there = f"there are {', '.join(others[-8:])}" if others else "there is none"
        return f"no campaign {folder.name} in {folder.parent}: {there}"
