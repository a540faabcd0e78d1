"""What a step of several devices is made of: one device's step, the exchange, slower ranks."""

from __future__ import annotations

import math
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ..records.cells import cell_key
from ..records.factors import is_strong
from ..records.results import Collectives, Hockney, MeasuredCell, StepCell, StepGroup, StepParts
from ..records.runs import RankWaits
from ..stats.statistics import median
from ..topology import world_size
from .scaling import base_topology
from .strong_scaling import step_times

__all__ = ["step_parts"]

# Bytes of a parameter's gradient by precision: automatic mixed precision keeps them in fp32.
_GRADIENT_BYTES = {"fp32": 4, "amp": 4, "bf16": 2, "fp16": 2}


def step_parts(
    cells: Sequence[MeasuredCell], messages: Optional[Collectives]
) -> Optional[StepParts]:
    """Return the parts of the steps of weak scaling; None where neither part was measured.

    Every part is measured by itself, and what is left is ``unexplained_seconds``, also below 0.

    - One device: the step of the same batch on one device, in the same campaign.
    - Exchange: the wait of the rank that reached it last, from the end of its backward pass. What
      was exchanged before that end, beside computation, is hidden.
    - Imbalance: by how much longer the middle rank waited, so by how much the last one was later.

    ``all_reduce_seconds`` is the fitted duration of one all-reduce of the model's gradients on the
    same topology, with nothing beside it; ``hidden_seconds`` is how much longer that takes than the
    exposed exchange.

    :param messages: of ``collectives``, of the same campaign.
    """
    groups: Dict[Tuple[str, ...], List[MeasuredCell]] = {}
    for cell in cells:
        if not is_strong(cell):
            groups.setdefault(cell_key(cell).group, []).append(cell)
    alone = _all_reduces(messages)
    found = [_group(members, alone) for members in groups.values()]
    explained = [one for one in found if any(_measured(cell) for cell in one["cells"])]
    return {"groups": explained} if explained else None


def _measured(cell: StepCell) -> bool:
    return cell["exchange_seconds"] is not None or cell["all_reduce_seconds"] is not None


def _group(members: Sequence[MeasuredCell], alone: Mapping[str, Hockney]) -> StepGroup:
    times = step_times(members)
    base = base_topology(members)
    several = [
        cell for cell in members if cell["devices"] > world_size(base) and cell["topology"] in times
    ]
    several.sort(key=lambda cell: (cell["devices"], cell["nodes"]))
    size = _gradient_bytes(members[0])
    one_device = median(times[base]) if base in times and world_size(base) == 1 else None
    key = cell_key(members[0])
    return {
        "benchmark": key.benchmark,
        "precision": key.precision,
        "variant": key.variant,
        "model": key.model,
        "gradient_bytes": size,
        "cells": [
            _cell(cell, median(times[cell["topology"]]), one_device, size, alone)
            for cell in several
            if one_device is not None
        ],
    }


def _cell(
    cell: MeasuredCell,
    step: float,
    one_device: Optional[float],
    size: Optional[int],
    alone: Mapping[str, Hockney],
) -> StepCell:
    of_repeats = [_waited(repeat["waits"]) for repeat in cell["repeats"] if repeat.get("waits")]
    waited = [one for one in of_repeats if one is not None]
    exchange = median([one[0] for one in waited]) if waited else None
    imbalance = median([one[1] for one in waited]) if waited else None
    fit = alone.get(cell["topology"])
    all_reduce = _seconds(fit, size) if fit and size else (None, None)
    rest = None
    if exchange is not None and imbalance is not None and one_device is not None:
        rest = step - one_device - exchange - imbalance
    hidden = None
    if all_reduce[0] is not None and exchange is not None:
        hidden = all_reduce[0] - exchange
    return {
        "topology": cell["topology"],
        "devices": cell["devices"],
        "oversubscribed": bool(cell["oversubscribed"]),
        "step_seconds": step,
        "one_device_seconds": one_device,
        "exchange_seconds": exchange,
        "imbalance_seconds": imbalance,
        "unexplained_seconds": rest,
        "all_reduce_seconds": all_reduce[0],
        "all_reduce_error": all_reduce[1],
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


def _gradient_bytes(cell: MeasuredCell) -> Optional[int]:
    """Return what every step reduces over all ranks; None where that is not known.

    Ranks that share the weights out (FSDP) gather and scatter them instead.
    """
    model = cell.get("model_data") or {}
    if (cell.get("own_factors") or {}).get("sharding", "ddp") != "ddp":
        return None
    if "gradient_bytes" in model:
        return int(model["gradient_bytes"]["figure"])
    each = _GRADIENT_BYTES.get(cell["precision"])
    return int(model["parameters"]["figure"] * each) if each and "parameters" in model else None


def _all_reduces(messages: Optional[Collectives]) -> Dict[str, Hockney]:
    """Return the fits of all-reduce by topology; of several the one with the most repeats."""
    groups = messages["groups"] if messages else []
    found = [one for one in groups if one["collective"] == "all_reduce"]
    found.sort(key=lambda one: one["fit"]["n"])
    return {one["topology"]: one["fit"] for one in found}


def _seconds(fit: Hockney, size: int) -> Tuple[Optional[float], Optional[float]]:
    """Return the duration of a message by the fitted law, and its standard error."""
    latency, of_byte = fit["latency_seconds"], fit["seconds_per_byte"]
    if latency is None or of_byte is None:
        return None, None
    variance = (
        (fit["latency_error"] or 0.0) ** 2
        + 2 * size * (fit["covariance"] or 0.0)
        + (size * (fit["seconds_per_byte_error"] or 0.0)) ** 2
    )
    return latency + size * of_byte, math.sqrt(max(variance, 0.0))
