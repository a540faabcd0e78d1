"""Runs module training_log_facts on a node, and its code at once where that is the controller."""

from __future__ import annotations

from ansible.plugins.action import ActionBase
from ansible_collections.scalebench.core.plugins.module_utils.node.log_reading import (
    ARGUMENTS,
    read_logs,
)


class ActionModule(ActionBase):
    """Saves a campaign's controller a Python of its own for every repeat."""

    def run(self, tmp=None, task_vars=None):
        """Return the module's result."""
        result = super().run(tmp, task_vars)
        if self._connection.transport != "local" or self._task.become:
            result.update(self._execute_module(task_vars=task_vars))
            return result
        _, given = self.validate_argument_spec(ARGUMENTS)
        try:
            result.update(read_logs(given))
        except ValueError as error:
            # No exception: a task's own failed_when is not asked about those.
            result.update(failed=True, msg=str(error))
        return result
