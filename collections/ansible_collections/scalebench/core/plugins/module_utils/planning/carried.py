"""What a carrier other than ssh cannot start yet, and for how long it has the nodes."""

from __future__ import annotations

import math
from typing import Any, Container, List, Mapping, Optional, Sequence, cast

from ..records.factors import MAX
from ..records.plans import Cell, Nodes
from . import launch, matrix, plan
from .plan_text import duration
from .recipes import recipe_of

__all__ = ["check_carried", "minutes_needed", "offered_cells", "too_long"]

# A time limit beyond what is expected: a job that ends early costs nothing, one that is cut off a
# second time in the queue.
_MARGIN, _BEYOND_SECONDS = 1.5, 600
# Of a repeat beside its training: supervisors, fetching, records.
_REPEAT_SECONDS = 5


def check_carried(cells: Sequence[Cell], carrier: str, srun: Mapping[str, Any]) -> None:
    """Refuse cells that need what only ssh carries.

    :param carrier: ssh or slurm.
    :param srun: what Slurm's srun can start: ``mpi`` and ``containers``, each empty if it cannot.
    :raises ValueError: the first such cell, why, and what to choose instead.
    """
    for cell in cells if carrier != "ssh" else ():
        inside = cell["framework_set"] is None
        if inside and cell["over_ssh"]:
            problem = "it runs MPI in a container"
        elif inside and not srun.get("containers"):
            problem = (
                "it runs in a container that provision.yml starts on the nodes, as srun has no"
                " --container-image (pyxis)"
            )
        elif cell["over_ssh"] and cell["nodes"] > 1 and not srun.get("mpi"):
            problem = (
                "its launcher starts the ranks of the other nodes by ssh, as srun --mpi=list has"
                " neither pmix nor pmi2"
            )
        else:
            continue
        raise ValueError(
            f"{cell['directory']}: {problem}, which works with scalebench_carrier=ssh only."
            " Choose another benchmark or recipe, as -e benchmark=pytorch, whose torchrun needs"
            " neither"
        )


def offered_cells(
    benchmarks: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Any],
    offered: Sequence[Mapping[str, Any]],
    cpu_processes: int,
) -> List[Cell]:
    """Return the cells of a campaign before it has nodes; none where that cannot be said yet.

    :param offered: ``name`` and ``gpus`` of the nodes that the carrier would give, in its words.
    :param cpu_processes: the devices of a node without GPUs, as far as the controller knows.
    """
    nodes = {
        node["name"]: {
            "device": "gpu" if node["gpus"] else "cpu",
            "devices": node["gpus"] or cpu_processes,
            # Nodes of a scheduler share no GPU.
            "fingerprint": {
                "gpus": [
                    {"index": number, "uuid": f"{node['name']} {number}"}
                    for number in range(node["gpus"])
                ]
            },
        }
        for node in offered
    }
    try:
        cells = matrix.expand(benchmarks, options, cast(Nodes, nodes))
    except ValueError:
        # The nodes themselves may say otherwise, and the plan is made of what they say.
        return []
    for cell in cells:
        recipe = recipe_of(benchmarks[cell["benchmark"]], cell)
        cell["over_ssh"] = launch.LAUNCHERS[recipe["launcher"]].over_ssh
        cell["estimate_seconds"] = plan.stated_seconds(cell, recipe)
    return cells


def minutes_needed(
    cells: Sequence[Cell],
    options: Mapping[str, Any],
    times: Mapping[str, Sequence[float]],
    done: Container[str],
) -> Optional[int]:
    """Return a time limit for the missing repeats, one by one; None if one's time is unknown.

    :param cells: what :func:`offered_cells` returned.
    :param times: seconds of earlier repeats, as for ``plan.estimate``.
    :param done: the logs of the repeats that need not run.
    """
    if not cells or options.get("bisect") or options.get("half_width"):
        # How many repeats there will be is not known.
        return None
    repeats = [one for one in plan.repeats(cells) if one["log"] not in done]
    seconds = [plan.estimate(one, times) for one in repeats]
    if not all(seconds) or any(cell["batch_size_per_device"] == MAX for cell in cells):
        return None
    total = _MARGIN * (sum(seconds) + _REPEAT_SECONDS * len(seconds)) + _BEYOND_SECONDS
    return math.ceil(total / 60)


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
