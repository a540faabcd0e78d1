"""Gives a Slurm allocation back when the ansible-playbook that asked for it ends."""

from __future__ import annotations

DOCUMENTATION = r"""
name: allocations
type: aggregate
short_description: Cancel the Slurm job that an ansible-playbook holds when it ends
description:
  - After the last play, after a failure, and after Ctrl-C, also while the job waits in the queue.
  - An ansible-playbook that is killed cannot do so; the job then ends by itself when no step has
    run for ten minutes.
"""

import atexit
import os
import subprocess

from ansible.plugins.callback import CallbackBase

PATIENCE_SECONDS = 60


class CallbackModule(CallbackBase):
    """Remembers the jobs that were submitted; prints only what it cancels."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "allocations"

    def __init__(self):
        super().__init__()
        self._jobs = []
        self._process = os.getpid()
        atexit.register(self.give_back)

    def v2_runner_on_ok(self, result):
        """Note a job that was submitted."""
        answer = result.result
        if result.task.action.rpartition(".")[2] == "slurm_job" and answer.get("own"):
            self._jobs += [answer["job"]] if answer["job"] else []

    def v2_playbook_on_stats(self, stats):
        """Give back what was allocated."""
        self.give_back()

    def give_back(self):
        """Cancel the jobs; also after Ctrl-C, when Python ends."""
        # A worker of Ansible is a copy of this process.
        if not self._jobs or os.getpid() != self._process:
            return
        jobs, self._jobs = self._jobs, []
        try:
            subprocess.run(
                ["scancel", *jobs],
                capture_output=True,
                encoding="utf-8",
                timeout=PATIENCE_SECONDS,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            told = getattr(error, "stderr", "") or error
            self._display.warning(f"Slurm job {' '.join(jobs)} was not cancelled: {told}")
