"""Run Slurm's client programs on the controller."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence

from ansible_collections.scalebench.core.plugins.module_utils.slurm import commands

__all__ = [
    "NoAnswerError",
    "ask",
    "cancel",
    "carried_environment",
    "own_environment",
    "step_lines",
]

# Slurm's programs take options from variables, which a shell within another job or a user's profile
# has: SQUEUE_PARTITION hides the job from squeue.
OPTION_VARIABLES = ("SLURM_", "SRUN_", "SBATCH_", "SQUEUE_", "SCANCEL_", "SCONTROL_")
# Where Slurm's configuration is, and the token by which a user is known where munge is not used.
KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT")
PATIENCE_SECONDS, CANCEL_SECONDS = 120, 60


class NoAnswerError(ValueError):
    """A program of Slurm's refused or did not answer; ``stdout`` is what it said of the rest."""

    def __init__(self, told: str, stdout: str = "") -> None:
        super().__init__(told)
        self.stdout = stdout


def own_environment() -> dict[str, str]:
    """Return the environment without variables that stand for options of Slurm's programs."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or not name.startswith(OPTION_VARIABLES)
    }


def carried_environment() -> dict[str, str]:
    """Return what a command on a node gets of this process's environment."""
    return {name: os.environ.get(name, "") for name in commands.ENVIRONMENT}


def step_lines(job: str, nodes: Sequence[str]) -> list[str]:
    """Return the line of a step on each node, COMMAND standing for what it runs."""
    words = (commands.step(job, node, "COMMAND", carried_environment()) for node in nodes)
    return [shlex.join(line) for line in words]


def cancel(jobs: Sequence[str]) -> None:
    """Cancel jobs.

    :raises OSError, subprocess.SubprocessError: they could not be cancelled.
    """
    subprocess.run(
        ["scancel", *jobs],
        capture_output=True,
        encoding="utf-8",
        env=own_environment(),
        timeout=CANCEL_SECONDS,
        check=True,
    )


def ask(
    argv: Sequence[str],
    given: str = "",
    with_errors: bool = False,
    apart: bool = False,
) -> str:
    """Return what a program of Slurm's answers on its standard output.

    :param given: its standard input.
    :param with_errors: whether standard error follows. Sites print messages there (job_submit
        plugins) that are no part of an answer.
    :param apart: whether it runs in a session of its own, which signals to this one do not reach.
    :raises NoAnswerError: it refuses or does not answer; with its own words.
    :raises ValueError: it is not there.
    """

    try:
        done = subprocess.run(
            argv,
            input=given,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=own_environment(),
            timeout=PATIENCE_SECONDS,
            check=False,
            start_new_session=apart,
        )
    except FileNotFoundError:
        raise ValueError(
            f"{argv[0]} is not on PATH: run this where Slurm's client programs are, as on the"
            " cluster's login node"
        ) from None
    except subprocess.TimeoutExpired:
        raise NoAnswerError(f"{' '.join(argv)}: no answer within {PATIENCE_SECONDS} s") from None
    both = f"{done.stdout}\n{done.stderr}"
    if done.returncode:
        raise NoAnswerError(f"{' '.join(argv)}: {' '.join(both.split())}", done.stdout)
    return both if with_errors else done.stdout
