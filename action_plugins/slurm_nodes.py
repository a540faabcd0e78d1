"""Waits for the nodes of a Slurm job, says why they do not come, and returns them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.node.processes import end_with_parent
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_text import duration
from ansible_collections.scalebench.core.plugins.module_utils.records.node_names import folded
from ansible_collections.scalebench.core.plugins.module_utils.slurm import answers, commands
from ansible_collections.scalebench.core.plugins.module_utils.slurm.continuing import (
    names_of_hosts,
)
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.interrupts import before_signal
from ansible_collections.scalebench.core.plugins.plugin_utils.slurm_programs import (
    NoAnswerError,
    ask,
    cancel,
    step_lines,
)

# Seconds between two questions, first and at most: Slurm's controller serves the whole cluster.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0


class ActionModule(ControllerAction):
    """Implements module slurm_nodes."""

    ARGUMENTS: ClassVar = {
        "job": {"type": "str", "required": True},
        "own": {"type": "bool", "default": False},
        "campaign": {"type": "str", "default": ""},
        "results_dir": {"type": "str", "default": ""},
        "again": {"type": "dict", "default": {}},
    }

    def answer(self, args):
        """Return the nodes once the job has them.

        Ends with ansible-playbook, also by SIGKILL, and then cancels a job of ours: it would start
        and hold its nodes for nobody.
        """
        began, playbook = time.monotonic(), _playbook()
        if args["own"]:
            before_signal(signal.SIGTERM, lambda: _cancel_without(playbook, args["job"]))
        end_with_parent(playbook)
        job, found = self._wait(args["job"])
        waited = round(time.monotonic() - began, 1)
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
            "waited_seconds": waited,
            "steps": step_lines(args["job"], [node.name for node in found]),
            "allocation": {"says": _says(args["job"], found, waited)},
        }

    def _wait(self, job):
        """Return the running job and its nodes; print a line when its place in the queue changes.

        Without an answer it is asked again: the job keeps its place while slurmctld is away.
        """
        pause, said = FIRST_PAUSE, ""
        while True:
            try:
                found = _place(job)
                if found.runs:
                    return found, answers.nodes(ask(commands.describe_nodes(found.nodes)))
                text = answers.waiting_text(job, found, _pending(found.partition))
            except NoAnswerError as error:
                text = f"Slurm job {job}: no answer, asking again: {error}"
            if text != said:
                self._display.display(f"  {text}")
                said = text
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


def _place(job):
    """Return the place of a job in the queue.

    :raises ValueError: it will not get nodes.
    :raises NoAnswerError: Slurm does not answer.
    """
    try:
        found = answers.queued(ask(commands.in_queue(job)), job)
    except NoAnswerError as error:
        if "Invalid job id" not in str(error):
            raise
        found = None
    if found is None:
        raise ValueError(
            f"Slurm job {job}: Slurm does not know it; for one of an array give its own number, as"
            " squeue --format=%A prints it"
        )
    if not found.state.strip():
        raise NoAnswerError(f"Slurm says no state of job {job}")
    if not (found.runs or found.waits):
        raise ValueError(f"Slurm job {job} ended before it had nodes: {found.state}")
    if found.stuck:
        raise ValueError(
            f"Slurm job {job} will not start by itself: {found.reason}: change slurm_* or ask the"
            " cluster's administrator"
        )
    return found


def _pending(partition):
    """Return the jobs that wait in a partition, first in line first; none without an answer."""
    with suppress(NoAnswerError):
        return ask(commands.waiting(partition)).split()
    return []


def _playbook():
    """Return the pid of ansible-playbook, whose worker this process is."""
    playbook = multiprocessing.parent_process()
    return playbook.pid if playbook else os.getppid()


def _cancel_without(playbook, job):
    """Cancel the job if the ansible-playbook that would do so is gone."""
    if os.getppid() != playbook:
        with suppress(OSError, subprocess.SubprocessError):
            cancel([job])


def _says(job, nodes, waited):
    """Return which nodes the job has, with what Slurm knows of them where they are alike."""
    kinds = {(node.cpus, node.gpus, node.memory_mib) for node in nodes}
    each = ""
    if len(kinds) == 1:
        ((cpus, gpus, memory),) = kinds
        each = f" ({cpus} CPUs, {gpus} GPUs, {memory} MiB each)"
    names = folded(node.name for node in nodes)
    return f"Slurm job {job} on {names}{each}, after {duration(waited)} in the queue"
