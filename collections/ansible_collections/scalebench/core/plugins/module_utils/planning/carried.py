"""What a carrier other than ssh cannot start yet, and for how long it has the nodes."""

from __future__ import annotations

from typing import List, Sequence

from ..records.plans import Cell
from .plan_text import duration

__all__ = ["check_carried", "too_long"]


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


def too_long(campaign: str, seconds: float, left: float) -> List[str]:
    """Return a remark if the missing repeats take longer than the nodes are there; else nothing.

    :param seconds: what the plan expects of them.
    :param left: for how long the carrier has the nodes; 0 for no limit.
    """
    if not left or seconds <= left:
        return []
    return [
        f"the missing repeats take about {duration(seconds)}, and the nodes are there for"
        f" {duration(left)}: what is not done by then runs with"
        f" -e campaign={campaign}; a longer time limit (-e slurm_time=) spares that"
    ]
