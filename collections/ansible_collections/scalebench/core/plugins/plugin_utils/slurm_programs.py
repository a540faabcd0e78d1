"""Run Slurm's client programs on the controller."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

__all__ = ["ask", "own_environment"]

# sbatch and srun take options from variables, which a shell within another job has.
OPTION_VARIABLES = ("SLURM_", "SRUN_", "SBATCH_")
# Where Slurm's configuration is, and how times are printed.
KEPT = ("SLURM_CONF",)
PATIENCE_SECONDS = 120


def own_environment() -> dict[str, str]:
    """Return the environment without variables that stand for options of Slurm's programs."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or not name.startswith(OPTION_VARIABLES)
    }


def ask(argv: Sequence[str], given: str = "") -> str:
    """Return what a program of Slurm's says on both of its outputs.

    :param given: its standard input.
    :raises ValueError: it is not there, or refuses; with its own words.
    """
    try:
        done = subprocess.run(
            argv,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
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
    if done.returncode:
        raise ValueError(f"{' '.join(argv)}: {' '.join(done.stdout.split())}")
    return done.stdout
