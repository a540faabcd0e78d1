"""What a step of several devices is made of: one device's step, the exchange, slower ranks."""

from __future__ import annotations

import math
from typing import Dict, List, Optional, Sequence, Tuple

from ..records.cells import cell_key
from ..records.factors import is_strong
from ..records.results import MeasuredCell, StepCell, StepGroup, StepParts
from ..records.runs import RankWaits
from ..stats.statistics import median
from ..topology import world_size
from .collectives import all_reduce_times
from .ring_law import Times, ring_law
from .scaling import BASELINE, base_topology
from .strong_scaling import step_times

__all__ = ["gradient_bytes", "step_parts", "weak_groups"]

# Bytes of a parameter's gradient by precision: automatic mixed precision keeps them in fp32.
_GRADIENT_BYTES = {"fp32": 4, "amp": 4, "bf16": 2, "fp16": 2}


def step_parts(cells: Sequence[MeasuredCell]) -> Optional[StepParts]:
    """Return the parts of the steps of weak scaling; None where neither part was measured.

    Every part is measured by itself, and what is left is ``unexplained_seconds``, also below 0.

    - One device: the step of the same batch on one device, in the same campaign.
    - Exchange: the wait of the rank that reached it last, from the end of its backward pass. What
      was exchanged before that end, beside computation, is hidden.
    - Imbalance: by how much longer the middle rank waited, so by how much the last one was later.
    - Core wait: by how much longer the middle rank was ready to run without a core than one device
      alone, as other threads had it.

    ``all_reduce_seconds`` is the duration of one all-reduce of the model's gradients on the same
    topology, with nothing beside it, by the ``ring_law`` of this topology's; ``hidden_seconds`` is
    how much longer that takes than the exposed exchange.
    """
    alone = all_reduce_times(cells)
    found = [_group(members, alone) for members in weak_groups(cells)]
    explained = [one for one in found if any(_measured(cell) for cell in one["cells"])]
    return {"groups": explained} if explained else None


def weak_groups(cells: Sequence[MeasuredCell]) -> List[List[MeasuredCell]]:
    """Return the cells of weak scaling that differ in topology alone, group by group."""
    groups: Dict[Tuple[str, ...], List[MeasuredCell]] = {}
    for cell in cells:
        if not is_strong(cell):
            groups.setdefault(cell_key(cell).group, []).append(cell)
    return list(groups.values())


def _measured(cell: StepCell) -> bool:
    return cell["exchange_seconds"] is not None or cell["all_reduce_seconds"] is not None


def _group(members: Sequence[MeasuredCell], alone: Times) -> StepGroup:
    times = step_times(members)
    base = base_topology(members)
    several = [
        cell for cell in members if cell["devices"] > world_size(base) and cell["topology"] in times
    ]
    several.sort(key=lambda cell: (cell["devices"], cell["nodes"]))
    size = gradient_bytes(members)
    one_device = median(times[base]) if base in times and world_size(base) == 1 else None
    single = next((cell for cell in members if cell["topology"] == base), None)
    key = cell_key(members[0])
    return {
        "benchmark": key.benchmark,
        "precision": key.precision,
        "variant": key.variant,
        "model": key.model,
        "gradient_bytes": size,
        "cells": [
            _cell(cell, median(times[cell["topology"]]), one_device, size, alone, single)
            for cell in several
            if one_device is not None
        ],
    }


def _cell(
    cell: MeasuredCell,
    step: float,
    one_device: Optional[float],
    size: Optional[int],
    alone: Times,
    base: Optional[MeasuredCell],
) -> StepCell:
    of_repeats = [_waited(repeat["waits"]) for repeat in cell["repeats"] if repeat.get("waits")]
    waited = [one for one in of_repeats if one is not None]
    exchange = median([one[0] for one in waited]) if waited else None
    imbalance = median([one[1] for one in waited]) if waited else None
    topology = cell["topology"]
    law = ring_law(alone, [topology], size) if size and topology in alone else None
    all_reduce = law.seconds(topology) if law else None
    rest = None
    shared, own = _without_core(cell), _without_core(base) if base else None
    core = None if shared is None or own is None else shared - own
    if exchange is not None and imbalance is not None and one_device is not None:
        rest = step - one_device - exchange - imbalance - (core or 0.0)
    hidden = None
    if all_reduce is not None and exchange is not None:
        hidden = all_reduce - exchange
    return {
        "topology": topology,
        "devices": cell["devices"],
        "oversubscribed": bool(cell["oversubscribed"]),
        "step_seconds": step,
        "one_device_seconds": one_device,
        "exchange_seconds": exchange,
        "imbalance_seconds": imbalance,
        "core_wait_seconds": core,
        "unexplained_seconds": rest,
        "all_reduce_seconds": all_reduce,
        "all_reduce_error": math.sqrt(law.variance_of_difference(topology, BASELINE))
        if law
        else None,
        "hidden_seconds": hidden,
    }


def _waited(waits: Sequence[RankWaits]) -> Optional[Tuple[float, float]]:
    """Return how long the last rank of a repeat waited, and how much longer the middle one."""
    count = min((len(rank["wait_seconds"]) for rank in waits), default=0)
    if len(waits) < 2 or not count:
        return None
    columns = [[rank["wait_seconds"][place] for rank in waits] for place in range(count)]
    least = [min(column) for column in columns]
    more = [median(column) - min(column) for column in columns]
    return median(least), median(more)


def _without_core(cell: MeasuredCell) -> Optional[float]:
    """Return how long a rank was ready to run and had no core, s of a step; None if unknown."""
    waits = [repeat["waits"] for repeat in cell["repeats"] if repeat.get("waits")]
    known = [
        median([rank["core_wait_seconds"] for rank in ranks])
        for ranks in waits
        if all("core_wait_seconds" in rank for rank in ranks)
    ]
    return median(known) if known else None


def gradient_bytes(cells: Sequence[MeasuredCell]) -> Optional[int]:
    """Return what every step reduces over all ranks; None where that is not known.

    By the parameters that the benchmark states, else those of the log. Ranks that share the weights
    out (FSDP) gather and scatter them instead.

    :param cells: of one group.
    """
    cell = cells[0]
    model = cell.get("model_data") or {}
    if (cell.get("own_factors") or {}).get("sharding", "ddp") != "ddp":
        return None
    if "gradient_bytes" in model:
        return int(model["gradient_bytes"]["figure"])
    each = _GRADIENT_BYTES.get(cell["precision"])
    logged = (repeat.get("parameters") for one in cells for repeat in one["repeats"])
    stated = model["parameters"]["figure"] if "parameters" in model else None
    parameters = stated or next(filter(None, logged), None)
    return int(parameters * each) if each and parameters else None
