"""Runs module training_log_facts, within the controller's process if the logs are there."""

from __future__ import annotations

from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.node.log_reading import (
    ARGUMENTS,
    read_logs,
)


class ActionModule(ActionBase):
    """Saves the controller of a campaign the start of a module for every repeat."""

    def run(self, tmp=None, task_vars=None):
        """Return the module's result."""
        result = super().run(tmp, task_vars)
        if self._connection.transport != "local" or self._task.become:
            result.update(self._execute_module(task_vars=task_vars))
            return result
        _, args = self.validate_argument_spec(ARGUMENTS)
        try:
            result.update(read_logs(args))
        except ValueError as error:
            # Not an exception, because failed_when of the task does not apply to those.
            result.update(failed=True, msg=str(error))
        return result
