"""What a carrier other than ssh cannot start yet."""

from __future__ import annotations

from typing import Sequence

from ..records.plans import Cell

__all__ = ["check_carried"]


def check_carried(cells: Sequence[Cell], carrier: str) -> None:
    """Refuse cells that need what only ssh carries.

    :param carrier: ssh or slurm.
    :raises ValueError: the first such cell, why, and what to choose instead.
    """
    for cell in cells if carrier != "ssh" else ():
        if cell["over_ssh"] and cell["nodes"] > 1:
            problem = "its launcher starts the ranks of the other nodes by ssh"
        elif cell["framework_set"] is None:
            problem = "it runs in a container that provision.yml starts on the nodes"
        else:
            continue
        raise ValueError(
            f"{cell['directory']}: {problem}, which works with scalebench_carrier=ssh only."
            " Choose another benchmark or recipe, as -e benchmark=pytorch, whose torchrun needs"
            " neither"
        )
