"""Run Slurm's client programs on the controller."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

__all__ = ["ask", "own_environment"]

# Slurm's programs take options from variables, which a shell within another job or a user's profile
# has: SQUEUE_PARTITION hides the job from squeue.
OPTION_VARIABLES = ("SLURM_", "SRUN_", "SBATCH_", "SQUEUE_", "SCANCEL_", "SCONTROL_")
# Where Slurm's configuration is, and the token by which a user is known where munge is not used.
KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT")
PATIENCE_SECONDS = 120


def own_environment() -> dict[str, str]:
    """Return the environment without variables that stand for options of Slurm's programs."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or not name.startswith(OPTION_VARIABLES)
    }


def ask(argv: Sequence[str], given: str = "", with_errors: bool = False) -> str:
    """Return what a program of Slurm's answers on its standard output.

    :param given: its standard input.
    :param with_errors: whether standard error follows. Sites print messages there (job_submit
        plugins) that are no part of an answer.
    :raises ValueError: it is not there, or refuses; with its own words.
    """
    try:
        done = subprocess.run(
            argv,
            input=given,
            capture_output=True,
            encoding="utf-8",
            env=own_environment(),
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise ValueError(
            f"{argv[0]} is not on PATH: run this where Slurm's client programs are, as on the"
            " cluster's login node"
        ) from None
    except subprocess.TimeoutExpired:
        raise ValueError(f"{' '.join(argv)}: no answer within {PATIENCE_SECONDS} s") from None
    both = f"{done.stdout}\n{done.stderr}"
    if done.returncode:
        raise ValueError(f"{' '.join(argv)}: {' '.join(both.split())}")
    return both if with_errors else done.stdout
