"""Gives a Slurm allocation back when the ansible-playbook that asked for it ends."""

from __future__ import annotations

DOCUMENTATION = r"""
name: allocations
type: aggregate
short_description: Cancel the Slurm job that an ansible-playbook holds when it ends
description:
  - After the last play, after a failure, after Ctrl-C, SIGTERM and SIGHUP, also while the job
    waits in the queue.
  - An ansible-playbook that is killed cannot do so. While its job waits in the queue, the worker
    that asks for it cancels it; else the job ends by itself when no step has run for ten minutes.
"""

import atexit
import os
import signal
import subprocess
import threading

from ansible.plugins.callback import CallbackBase
from ansible_collections.scalebench.core.plugins.plugin_utils.interrupts import before_signal
from ansible_collections.scalebench.core.plugins.plugin_utils.slurm_programs import cancel


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
        if result.task.action.rpartition(".")[2] != "slurm_job":
            return
        self._jobs = [job for job in self._jobs if job != answer.get("cancelled")]
        if answer.get("own"):
            self._jobs += [answer["job"]] if answer["job"] else []
            self._heed_signals()

    def _heed_signals(self):
        """Give the jobs back at signals that end Python without its atexit functions."""
        if not self._jobs or threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGHUP):
            before_signal(number, self.give_back)

    def v2_playbook_on_stats(self, stats):
        """Give back what was allocated."""
        self.give_back()

    def give_back(self):
        """Cancel the jobs; also after Ctrl-C, when Python ends."""
        # A worker of Ansible is a copy of this process.
        if not self._jobs or os.getpid() != self._process:
            return
        try:
            cancel(self._jobs)
        except (OSError, subprocess.SubprocessError) as error:
            told = getattr(error, "stderr", "") or error
            self._display.warning(f"Slurm job {' '.join(self._jobs)} was not cancelled: {told}")
        # After Ctrl-C until here they are given back once more, when Python ends.
        self._jobs = []
