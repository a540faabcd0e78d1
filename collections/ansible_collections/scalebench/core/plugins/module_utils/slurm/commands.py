"""The batch script that holds an allocation, and the command lines of Slurm's programs.

Options: ``sbatch --help``, ``srun --help``, ``squeue --help`` and ``scontrol --help`` of Slurm
22.05, which tests hold.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence

from ..records.cells import check_campaign_name

__all__ = [
    "BEAT_SECONDS",
    "ENVIRONMENT",
    "PATIENCE_SECONDS",
    "account",
    "batch_script",
    "describe_job",
    "describe_nodes",
    "describe_partition",
    "in_queue",
    "step",
    "waiting",
]

# How often the batch script looks for steps, and how many times in a row it may find none.
LOOK_SECONDS = 30
IDLE_LOOKS = 20
# For how long one srun tries to create a step: without a limit it would for as long as the job
# lasts. A short time, since it waits to be told, and is not when a suspended job goes on (22.05.8).
STEP_SECONDS = 20
# What a command on a node gets of the environment of srun's caller. The rest, such as the paths of
# the controller's Python, means something else there; over ssh it would not arrive either.
ENVIRONMENT = ("HOME", "USER", "LOGNAME", "LANG")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# A command on a node sees none of Slurm's variables of its step, which say that it is one task
# alone: torchrun and MPI systems would take their ranks from them. Which GPUs are the job's is told
# by a variable of ours (node.nvidia_smi.GIVEN): ranks get a CUDA_VISIBLE_DEVICES of their own.
# Where srun finds Slurm stays.
_WITHOUT_STEP = (
    '[ -z "${CUDA_VISIBLE_DEVICES+set}" ] || export SCALEBENCH_GPUS="$CUDA_VISIBLE_DEVICES"; '
    "unset $(env | sed -nE"
    " '/^SLURM_CONF=/d; s/^((SLURM|SLURMD|SRUN|PMI|PMI2|PMIX)_[A-Za-z0-9_]*)=.*/\\1/p'); "
)

# slurmstepd keeps a step whose srun was killed or whose login node is gone, and closes none of its
# input and output (22.05.8). So the controller sends a byte every ten seconds, and the supervisor
# ends the run when none came for a minute.
BEAT_SECONDS = 10
PATIENCE_SECONDS = 60
# The command gets its own input only; what follows it can be read from descriptor 3.
_WITH_BEATS = "exec 3<&0; head -c {size} <&3 | {{ {command}\n}}"

# A job ends with its batch script. It gives the nodes back by itself when no step ran for ten
# minutes: the controller was killed, or its machine is gone. Without an answer it waits.
# squeue would not do: with SlurmctldParameters=enable_stepmgr slurmctld tells of steps only who
# asks for one job, which squeue --steps does not (src/squeue/squeue.c of 25.05).
_HOLD = """\
idle=0
while [ "$idle" -lt {looks} ]; do
  sleep {seconds}
  if steps=$(scontrol --oneliner show step "$SLURM_JOB_ID") &&
    [ -z "$(printf '%s\\n' "$steps" | grep -v -E '^(StepId=[0-9]+[.](batch|extern) .*)?$')" ]; then
    idle=$((idle + 1))
  else
    idle=0
  fi
done
"""


def batch_script(campaign: str, directives: Sequence[str]) -> str:
    """Return the script that sbatch gets: it holds the nodes and computes nothing.

    :param campaign: its name, part of the job's; empty for none.
    :param directives: what ``options.directives`` returned.
    :raises ValueError: the name is no campaign's.
    """
    if campaign:
        check_campaign_name(campaign)
    own = [
        "--job-name=" + "-".join(filter(None, ("scalebench", campaign))),
        "--ntasks-per-node=1",
        "--output=/dev/null",
        # A restarted script would hold nodes for a controller that does not know them.
        "--no-requeue",
        # Repeats on the other nodes go on when one is lost.
        "--no-kill",
        # Limits (ulimit) are those of the nodes, as over ssh: a login node's are often low.
        "--propagate=NONE",
    ]
    lines = [f"#SBATCH {word}" for word in (*own, *directives)]
    hold = _HOLD.format(looks=IDLE_LOOKS, seconds=LOOK_SECONDS)
    return "\n".join(["#!/bin/sh", *lines, hold])


def step(
    job: str,
    node: str,
    command: str,
    environment: Mapping[str, str],
    name: str = "scalebench",
    input_bytes: Optional[int] = None,
) -> List[str]:
    """Return the words that run a shell command on one node of an allocation, as a step.

    The step has the node as the job has it, beside other steps: all CPUs (no ``--exact``, no
    binding), all of the job's memory and GPUs. The command sees no variables of Slurm.

    :param job: the job's id.
    :param command: for ``sh -c``.
    :param environment: of the command, beside what Slurm adds; no value has a comma.
    :param name: by which Slurm's accounting knows the step.
    :param input_bytes: size of the command's input, which beats of the controller follow
        (``BEAT_SECONDS``); None where they do not.
    """
    given = {"PATH": _PATH, **environment, "SCALEBENCH_NODE": node, "SCALEBENCH_SLURM_JOB": job}
    if input_bytes is not None:
        given["SCALEBENCH_ALIVE"] = str(PATIENCE_SECONDS)
        command = _WITH_BEATS.format(size=input_bytes, command=command)
    return [
        "srun",
        f"--jobid={job}",
        "--overlap",
        f"--nodelist={node}",
        "--nodes=1",
        "--ntasks=1",
        "--ntasks-per-node=1",
        f"--job-name={name}",
        f"--immediate={STEP_SECONDS}",
        "--mem=0",
        "--cpu-bind=none",
        "--mpi=none",
        "--chdir=/",
        "--kill-on-bad-exit=1",
        "--propagate=NONE",
        "--export=" + ",".join(f"{key}={value}" for key, value in _carried(given).items()),
        "/bin/sh",
        "-c",
        _WITHOUT_STEP + command,
    ]


def _carried(environment: Mapping[str, str]) -> Dict[str, str]:
    """Return the variables that --export can carry, whose list is separated by commas."""
    return {key: value for key, value in environment.items() if value and "," not in value}


def describe_nodes(names: str) -> List[str]:
    """Return the words that ask for all that Slurm knows of nodes, one line each.

    :param names: a list of nodes in Slurm's form, as ``n[1-4]``.
    """
    return ["scontrol", "--oneliner", "show", "node", names]


def describe_partition(name: str) -> List[str]:
    """Return the words that ask for all that Slurm knows of a partition, in one line."""
    return ["scontrol", "--oneliner", "show", "partition", name]


def in_queue(job: str) -> List[str]:
    """Return the words that ask for state, reason, start, nodes, time left, partition and number.

    ``answers.queued`` reads the answer.
    """
    form = "%T|%r|%S|%N|%L|%P|%A"
    return ["squeue", "--noheader", f"--jobs={job}", "--states=all", f"--format={form}"]


def account(job: str) -> List[str]:
    """Return the words that ask for Slurm's accounting of a job and its steps.

    ``answers.accounted`` reads the answer.
    """
    form = "JobID,JobName,State,ExitCode,NodeList"
    return ["sacct", "--noheader", "--parsable2", f"--jobs={job}", f"--format={form}"]


def describe_job(job: str) -> List[str]:
    """Return the words that ask for all that Slurm still knows of a job, in one line."""
    return ["scontrol", "--oneliner", "show", "job", job]


def waiting(partition: str) -> List[str]:
    """Return the words that ask for the ids of a partition's waiting jobs, first in line first."""
    words = ["squeue", "--noheader", "--states=PENDING", "--sort=-p,i", "--format=%i"]
    return [*words, f"--partition={partition}"]
