"""Runs all repeats of a wave that a node takes part in, at the same time."""

from __future__ import annotations

from functools import partial

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import action_loader
from ansible_collections.scalebench.core.plugins.plugin_utils.carrier import told_of
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import run_action
from ansible_collections.scalebench.core.plugins.plugin_utils.side_by_side import side_by_side

SHARE_KEYS = ("argv", "environment", "rank", "devices", "name")
COMMON_KEYS = ("work_dir", "timeout", "grace", "stall", "memory_mib", "sample_interval")
# Loaded before Ansible forks; else each node's worker would do so at each repeat.
action_loader.get("training_run", class_only=True)


class ActionModule(ActionBase):
    """Implements module training_runs: starts an action training_run for each repeat."""

    def run(self, tmp=None, task_vars=None):
        """Return the results by log; the node is unreachable if it was for all repeats."""
        result = super().run(tmp, task_vars)
        without = self._task.args["without"]
        shares = {s["log"]: s for s in self._task.args["shares"] if s["log"] not in without}
        if not shares:
            return {**result, "skipped": True}
        calls = {log: partial(self._train, share, task_vars) for log, share in shares.items()}
        runs = side_by_side(calls)
        result.update(changed=any(run.get("changed") for run in runs.values()), runs=runs)
        lost = [run["msg"] for run in runs.values() if run.get("unreachable")]
        if len(lost) == len(runs):
            result.update(unreachable=True, msg=lost[0], gone=self._gone())
        return result

    def _gone(self):
        """Return why the node cannot be reached now; empty if it can: a connection may break."""
        try:
            self._low_level_execute_command(":")
        except AnsibleConnectionFailure as error:
            return str(error) or "no message"
        return ""

    def _train(self, share, task_vars):
        """Return the result of one repeat; a lost node is a result too."""
        given = self._task.args["options"]
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
