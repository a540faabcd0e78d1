"""Asks Slurm for the nodes of a campaign: one job that holds them."""

from __future__ import annotations

import re
import shutil
import signal
from contextlib import suppress
from typing import ClassVar

from ansible_collections.scalebench.core.plugins.module_utils.slurm import answers, commands, srun
from ansible_collections.scalebench.core.plugins.module_utils.slurm.continuing import usable
from ansible_collections.scalebench.core.plugins.module_utils.slurm.options import (
    check_gpus,
    directives,
    gpus_asked,
    nodes_needed,
)
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.slurm_programs import (
    NoAnswerError,
    ask,
    cancel,
    step_lines,
)

# Of a playbook that is ended.
_ENDING = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM}


class ActionModule(ControllerAction):
    """Implements module slurm_job."""

    ARGUMENTS: ClassVar = {
        "campaign": {"type": "str", "default": ""},
        "results_dir": {"type": "path", "required": True},
        "options": {"type": "dict", "default": {}},
        "again": {"type": "dict", "default": {}},
        "unfit": {"type": "list", "elements": "str", "default": []},
        "cancel": {"type": "str", "default": ""},
        "topology": {"type": "raw"},
        "job": {"type": "str", "default": ""},
        "ask_only": {"type": "bool", "default": False},
        "minutes": {"type": "int", "default": 0},
        "mpi": {"type": "str", "default": ""},
    }

    def answer(self, args):
        """Return the job's id; in check mode the script and the line of a step on each node.

        With ``ask_only`` return the nodes that Slurm would choose instead.
        """
        return {"allocation": {}, **self._answer(args)}

    def _answer(self, args):
        if args["cancel"]:
            ask(["scancel", args["cancel"]])
            return {"changed": True, "job": "", "own": False, "cancelled": args["cancel"]}
        if args["job"]:
            if not re.fullmatch(r"[0-9]+", args["job"]):
                raise ValueError(
                    f"slurm_job={args['job']}: is not the number of a job; that of one of an array"
                    " is printed by squeue --format=%A"
                )
            return {"changed": False, "job": args["job"], "own": False, **_srun(args["mpi"])}
        without = filter(None, [args["options"].get("exclude"), *args["unfit"]])
        args["options"] = {**args["options"], "exclude": ",".join(map(str, without))}
        options = {**args["options"], **_of_campaign(args)}
        options["nodes"] = options.get("nodes") or nodes_needed(args["topology"])
        script, tried = _tried(args["campaign"], options, args["minutes"])
        chosen = _chosen(tried)
        check_gpus(options, chosen, args["topology"])
        if args["ask_only"]:
            asked = gpus_asked(options)
            nodes = [
                {**one._asdict(), "gpus": one.gpus if asked is None else min(asked, one.gpus)}
                for one in chosen
            ]
            answer = {"changed": False, "job": "", "own": False, "nodes": nodes}
            return {**answer, **_srun(args["mpi"])}
        if self._task.check_mode:
            lines = step_lines("JOB", [node.name for node in chosen])
            text = "\n".join([script, tried.strip(), "", *lines])
            only = {"only_asked": True}
            return {"changed": True, "job": "", "own": True, "text": text, "allocation": only}
        found = _srun(args["mpi"])
        return {"changed": True, "job": _submit(script), "own": True, **found}


def _srun(wanted):
    """Return what the srun of this machine can start beside a command."""
    return {
        "srun": {
            "path": shutil.which("srun"),
            "mpi": srun.mpi_of(ask(["srun", "--mpi=list"], with_errors=True), wanted),
            "containers": srun.starts_containers(ask(["srun", "--help"])),
        }
    }


def _tried(campaign, options, minutes):
    """Return the batch script and what Slurm says about it.

    :param minutes: the time limit where none is set, at most the partition's, and that where it is
        0 or Slurm refuses it. What is not done by then runs in another job.
    """
    if options.get("time") not in (None, ""):
        return _asked(campaign, options)
    try:
        found = _asked(campaign, {**options, "time": str(minutes)} if minutes else options)
    except ValueError:
        if not minutes:
            raise
        # Another cause is told by this try.
        minutes, found = 0, _asked(campaign, options)
    default, longest = _limits(found[1])
    # Slurm takes a limit above the partition's by default (EnforcePartLimits), and the job would
    # wait for ever. One that asks for none has the partition's DefaultTime, often some minutes.
    if longest is not None and (longest < minutes if minutes else default is not None):
        with suppress(ValueError):
            found = _asked(campaign, {**options, "time": str(longest)})
    return found


def _asked(campaign, options):
    script = commands.batch_script(campaign, directives(options))
    return script, ask(["sbatch", "--test-only"], script, with_errors=True)


def _limits(tried):
    """Return the default and the longest minutes of the partition of Slurm's choice, or None."""
    partition = answers.tried_partition(tried)
    if not partition:
        return None, None
    return answers.limits_of_time(ask(commands.describe_partition(partition)))


def _submit(script):
    """Return the id of the job that was submitted.

    Slurm may have taken the job before sbatch says so: a signal that ends this worker, as after
    Ctrl-C, is heeded when the id is known, and cancels the job.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        job = _id_of(ask(["sbatch", "--parsable"], script, apart=True))
        if signal.sigpending() & _ENDING:
            cancel([job])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return job


def _id_of(answer):
    """Return the id on the last line of sbatch's answer, ``id`` or ``id;cluster``."""
    last = answer.strip().rpartition("\n")[2]
    match = re.fullmatch(r"([0-9]+)(;\S+)?", last.strip())
    if not match:
        raise ValueError(
            f"sbatch --parsable: {last!r} has no id of a job: look with squeue --me whether one was"
            " submitted, and cancel it with scancel"
        )
    return match[1]


def _of_campaign(args):
    """Return the nodes to ask for by name: those had before, others for those that are gone.

    They are those of a job before this one, or of a campaign that is continued.
    """
    planned = campaign_files.planned_nodes(args["results_dir"], args["campaign"])
    names = [*(args["again"] or planned).values()]
    if not names:
        return {}
    described = _described(",".join(names))
    excluded = str(args["options"].get("exclude") or "")
    # A list as n[1-2] is Slurm's to read.
    there = usable(described, [node.name for node in _described(excluded)] if excluded else [])
    # sbatch refuses to exclude a node that it does not know.
    known = [node.name for node in described]
    gone = [node for node in described if node.name not in there]
    others = _others(args, known, len(names) - len(there), gone) if len(there) < len(names) else []
    return {"nodes": len(names), "nodelist": ",".join([*there, *others])}


def _described(names):
    """Return what Slurm knows of nodes; those that its configuration has no more are left out."""
    try:
        return answers.nodes(ask(commands.describe_nodes(names)))
    except NoAnswerError as error:
        if " not found" not in str(error):
            raise
        return answers.nodes(error.stdout)


def _others(args, names, count, gone):
    """Return the nodes that Slurm would choose for those that are gone, of their hardware.

    Slurm 22.05 takes no list of nodes that is shorter than their number.

    :param gone: what Slurm still knows of them.
    :raises ValueError: it has none.
    """
    wanted = {(node.cpus, node.gpus) for node in gone}
    # The user's list of nodes names those that are gone.
    options = {**args["options"], "nodes": count, "nodelist": ""}
    left_out = [*names, *filter(None, [args["options"].get("exclude")])]
    while True:
        _, tried = _asked(args["campaign"], {**options, "exclude": ",".join(left_out)})
        chosen = _chosen(tried)
        other = [node.name for node in chosen if wanted and (node.cpus, node.gpus) not in wanted]
        if not other:
            return [node.name for node in chosen]
        if {*other} & {*left_out}:
            raise ValueError(f"Slurm would take {', '.join(other)}, which --exclude names")
        left_out += other


def _chosen(tried):
    """Return the nodes that Slurm would choose; none where it does not say which."""
    names = answers.tried(tried)
    return answers.nodes(ask(commands.describe_nodes(names))) if names else []
