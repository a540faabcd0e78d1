"""Runs all repeats of a wave that a node takes part in, at the same time."""

from __future__ import annotations

from functools import partial

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.plugin_utils.carrier import told_of
from ansible_collections.scalebench.core.plugins.plugin_utils.other_action import run_action
from ansible_collections.scalebench.core.plugins.plugin_utils.side_by_side import side_by_side

SHARE_KEYS = ("argv", "environment", "rank", "devices", "name")
COMMON_KEYS = ("work_dir", "timeout", "grace", "stall", "memory_mib", "sample_interval")


class ActionModule(ActionBase):
    """Implements module training_runs: starts an action training_run for each repeat."""

    def run(self, tmp=None, task_vars=None):
        """Return the results by log; the node is unreachable if it was for all repeats."""
        result = super().run(tmp, task_vars)
        shares = {share["log"]: share for share in self._task.args["shares"]}
        calls = {log: partial(self._train, share, task_vars) for log, share in shares.items()}
        runs = side_by_side(calls)
        result.update(changed=any(run.get("changed") for run in runs.values()), runs=runs)
        lost = [run["msg"] for run in runs.values() if run.get("unreachable")]
        if len(lost) == len(runs):
            result.update(unreachable=True, msg=lost[0])
        return result

    def _train(self, share, task_vars):
        """Return the result of one repeat; a lost node is a result too."""
        given = self._task.args
        campaign = given["campaign"]
        args = {
            **{key: share[key] for key in SHARE_KEYS},
            **{key: given[key] for key in COMMON_KEYS},
            "directory": f"runs/{campaign['name']}/{share['directory']}",
            "failed_file": f"{campaign['directory']}/{share['log']}.failed-{campaign['session']}",
            "fetch_to": f"{campaign['directory']}/{share['output']}",
        }
        try:
            return run_action(self, "training_run", args, task_vars)
        except AnsibleConnectionFailure as error:
            return told_of(error)
        except AnsibleError as error:
            return {"failed": True, "msg": str(error)}
