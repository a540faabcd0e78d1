"""Runs module training_run, ends with ansible-playbook, and brings the log home."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from pathlib import Path

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.node.ending import end_processes
from ansible_collections.scalebench.core.plugins.module_utils.node.proc import descendants

PR_SET_PDEATHSIG = 1
# Seconds that the node has beyond its own limit, to end all processes and to answer.
GRACE = 60.0


class ActionModule(ActionBase):
    """The controller's half of training_run."""

    _requires_connection = True

    def run(self, tmp=None, task_vars=None):
        """Return the module's result; the log lies at ``fetch_to`` where it was asked for."""
        result = super().run(tmp, task_vars)
        # A worker outlives a killed ansible-playbook, and with it the connection that the node
        # watches. SIGTERM makes the worker end its ssh too.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        result.update(self._execute(task_vars))
        target = self._task.args.get("fetch_to")
        if target and result.get("log") and not result.get("failed"):
            self._fetch(result["log"], Path(target))
        return result

    def _execute(self, task_vars):
        """Run the module; the limit holds here too, for a node that does not answer any more."""
        limit = float(self._task.args.get("timeout") or 0)
        grace = float(self._task.args.get("grace") or GRACE)
        expired = threading.Event()

        def expire():
            expired.set()
            end_processes(lambda: descendants(os.getpid()))

        timer = threading.Timer(limit + grace, expire)
        timer.daemon = True
        if limit:
            timer.start()
        try:
            return self._execute_module(module_args=self._task.args, task_vars=task_vars)
        except AnsibleConnectionFailure:
            if expired.is_set():
                reason = f"the node gave no answer within {limit:g} s and {grace:g} s more"
                return {"ending": "timeout", "reason": reason}
            raise
        finally:
            timer.cancel()

    def _fetch(self, log: str, target: Path) -> None:
        part = target.with_name(target.name + ".part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._connection.fetch_file(log, str(part))
            os.replace(part, target)
        except OSError as error:
            raise AnsibleError(f"{target}: {error.strerror}: the log stays at {log}") from error
