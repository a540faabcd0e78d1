"""Runs module preflight_facts and compares the node's clock with the controller's."""

from __future__ import annotations

import time

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Adds ``clock_skew`` to the result of module preflight_facts."""

    def run(self, tmp=None, task_vars=None):
        """Return the module's result with ``clock_skew``, the bounds of the skew in seconds."""
        result = super().run(tmp, task_vars)
        before = time.time()
        result.update(self._execute_module(task_vars=task_vars))
        after = time.time()
        # That is the controller's to say; a clock that is no number is left for the judgement.
        result.pop("clock_skew", None)
        clock = result.get("clock")
        if isinstance(clock, (int, float)):
            # The module read the node's clock at some time between the two.
            result["clock_skew"] = [clock - after, clock - before]
        return result
