"""Runs module training_run, ends with ansible-playbook, and fetches the log."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.records.endings import ending_names
from ansible_collections.scalebench.core.plugins.plugin_utils.run_watch import (
    PEER_GRACE,
    RunWatch,
    end_with_parent,
)

REASONS = {
    "timeout": "the node gave no answer within {timeout:g} s and {grace:g} s more",
    "cancelled": "ended, because another node of the repeat failed",
}


class ActionModule(ActionBase):
    """The controller's half of training_run."""

    _requires_connection = True

    def run(self, tmp=None, task_vars=None):
        """Return the module's result; the log lies at ``fetch_to`` where it was asked for."""
        result = super().run(tmp, task_vars)
        end_with_parent()
        result.update(self._execute(task_vars))
        target = self._task.args.get("fetch_to")
        if target and result.get("log") and not result.get("failed"):
            self._fetch(result["log"], Path(target))
        return result

    def _execute(self, task_vars):
        """Run the module until it ends, its time is up, or another node of the repeat failed."""
        args = self._task.args
        timeout, grace = float(args.get("timeout") or 0), float(args.get("grace", 60))
        failed = args.get("failed_file")
        with RunWatch(timeout and timeout + grace, Path(failed) if failed else None) as watch:
            try:
                answer = self._execute_module(
                    module_name="training_run", module_args=args, task_vars=task_vars
                )
            except AnsibleConnectionFailure:
                if not watch.ended:
                    watch.fail()
                    raise
                reason = REASONS[watch.ended].format(timeout=timeout, grace=grace)
                log = self._log_when_ended(grace, task_vars)
                answer = {"ending": watch.ended, "reason": reason, "log": log}
            if answer.get("ending") != "ok":
                ending = answer.get("ending", "launch_failed")
                watch.fail(0 if ending in ending_names(ends_peers=True) else PEER_GRACE)
        return answer

    def _log_when_ended(self, patience: float, task_vars) -> str | None:
        """Wait until the node has ended the run; ranks of the next one could meet its ranks."""
        args = self._task.args
        run = f"{args['work_dir']}/{args['directory']}/{args['name']}"
        given = {"work_dir": args["work_dir"], "run": run, "patience": patience}
        with contextlib.suppress(AnsibleConnectionFailure):
            answer = self._execute_module(
                module_name="training_run_end", module_args=given, task_vars=task_vars
            )
            if answer.get("ended"):
                return answer["log"]
            problem = answer.get("msg", f"not ended after {patience:g} s")
            self._display.warning(f"{task_vars['inventory_hostname']}: {run}: {problem}")
        return None

    def _fetch(self, log: str, target: Path) -> None:
        part = target.with_name(target.name + ".part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._connection.fetch_file(log, str(part))
            os.replace(part, target)
        except OSError as error:
            raise AnsibleError(f"{target}: {error.strerror}: the log stays at {log}") from error
