"""Strong scaling of measured cells: the time of a step over devices, and its serial share."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence, Tuple, cast

from ..records.cells import cell_key
from ..records.factors import is_strong
from ..records.results import MeasuredCell, SerialShare, StrongCell, StrongGroup, StrongScaling
from ..stats.laws import LEVEL, karp_flatt, serial_share
from ..stats.statistics import median
from ..topology import world_size
from .cells import deciding_speeds, ok_speeds
from .scaling import base_topology

__all__ = ["step_times", "strong_scaling"]


def step_times(cells: Sequence[MeasuredCell]) -> Dict[str, List[float]]:
    """Return the seconds of a step of all devices, by topology, of each repeat with a speed.

    By the speeds that comparisons decide by (``deciding_speeds``). What logs count otherwise than
    batches, such as tokens, is known of a benchmark that states ``units_per_sample``.

    :param cells: measured, of one group.
    """
    speeds = deciding_speeds(*cells)
    return {
        cell["topology"]: [_samples(cell) / speed for speed in own]
        for cell, own in zip(cells, speeds)
        if own and isinstance(cell["batch_size_per_device"], int)
    }


def _samples(cell: MeasuredCell) -> float:
    """Return what a step of all devices trains on, in what the throughput counts."""
    return float(cell["batch_size_per_device"] * cell["devices"] * cell.get("units_per_sample", 1))


def strong_scaling(cells: Sequence[MeasuredCell]) -> Optional[StrongScaling]:
    """Return the times of a step of each group of strong scaling; None without any.

    Cells that run more processes than their machines have cores say nothing about scaling, and do
    not count for the serial share.
    """
    groups: Dict[Tuple[str, ...], List[MeasuredCell]] = {}
    for cell in cells:
        if is_strong(cell):
            groups.setdefault(cell_key(cell).group, []).append(cell)
    if not groups:
        return None
    return {"level": LEVEL, "groups": [_group(members) for members in groups.values()]}


def _group(members: Sequence[MeasuredCell]) -> StrongGroup:
    base = base_topology(members)
    measured = [cell for cell in members if ok_speeds(cell)]
    measured.sort(key=lambda cell: (cell["devices"], cell["nodes"]))
    times = step_times(measured)
    shared: Dict[float, List[float]] = {}
    for cell in measured:
        if not cell["oversubscribed"] and base in times:
            more = cell["devices"] / world_size(base)
            shared.setdefault(more, []).extend(times[cell["topology"]])
    key = cell_key(members[0])
    return {
        "benchmark": key.benchmark,
        "precision": key.precision,
        "variant": key.variant,
        "model": key.model,
        "global_batch_size": members[0]["global_batch_size"],
        "base": base,
        "cells": [_cell(cell, times, base) for cell in measured],
        "serial_share": cast(SerialShare, serial_share(shared)),
    }


def _cell(cell: MeasuredCell, times: Mapping[str, Sequence[float]], base: str) -> StrongCell:
    own, more = median(times[cell["topology"]]), cell["devices"] / world_size(base)
    below = median(times[base]) if base in times else None
    return {
        "topology": cell["topology"],
        "devices": cell["devices"],
        "batch_size_per_device": cell["batch_size_per_device"],
        "step_seconds": own,
        "ideal_step_seconds": None if below is None else below / more,
        "karp_flatt": None if below is None else karp_flatt(below / own, more),
    }
