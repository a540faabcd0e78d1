"""Runs module preflight_facts and holds the node's clock against the controller's."""

from __future__ import annotations

import time

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """The controller's half of preflight_facts."""

    def run(self, tmp=None, task_vars=None):
        """Return the module's result with ``clock_skew``, seconds by which the node is ahead."""
        result = super().run(tmp, task_vars)
        asked = time.time()
        result.update(self._execute_module(task_vars=task_vars))
        answered = time.time()
        if "clock" in result:
            # It was read at some time between the question and the answer.
            result["clock_skew"] = [result["clock"] - answered, result["clock"] - asked]
        return result
