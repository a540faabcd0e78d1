"""Waits for the nodes of a Slurm job, says why they do not come, and returns them."""

from __future__ import annotations

import time
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.slurm import answers, commands
from ansible_collections.scalebench.core.plugins.module_utils.slurm.continuing import (
    names_of_hosts,
)
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.slurm_programs import ask

# Seconds between two questions, first and at most: Slurm's controller serves the whole cluster.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0


class ActionModule(ControllerAction):
    """Implements module slurm_nodes."""

    ARGUMENTS: ClassVar = {
        "job": {"type": "str", "required": True},
        "campaign": {"type": "str", "default": ""},
        "results_dir": {"type": "str", "default": ""},
        "again": {"type": "dict", "default": {}},
    }

    def answer(self, args):
        """Return the nodes once the job has them."""
        began = time.monotonic()
        job = self._wait(args["job"])
        found = answers.nodes(ask(commands.describe_nodes(job.nodes)))
        planned = args["again"] or campaign_files.planned_nodes(
            args["results_dir"], args["campaign"]
        )
        names = names_of_hosts(planned, [node.name for node in found])
        return {
            "changed": False,
            "job": args["job"],
            "nodes": [
                {**node._asdict(), "name": names[node.name], "host": node.name} for node in found
            ],
            "seconds_left": job.seconds_left,
            "waited_seconds": round(time.monotonic() - began, 1),
        }

    def _wait(self, job):
        """Return the running job; print a line when its place in the queue changes."""
        pause, said = FIRST_PAUSE, ""
        while True:
            found = answers.queued(ask(commands.in_queue(job)))
            if found is None:
                raise ValueError(f"Slurm job {job}: Slurm does not know it")
            if found.runs:
                return found
            if not found.waits:
                raise ValueError(f"Slurm job {job} ended before it had nodes: {found.state}")
            if found.stuck:
                raise ValueError(
                    f"Slurm job {job} will not start by itself: {found.reason}: change slurm_* or"
                    " ask the cluster's administrator"
                )
            pending = ask(commands.waiting(found.partition)).split()
            text = answers.waiting_text(job, found, pending)
            if text != said:
                self._display.display(f"  {text}")
                said = text
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
