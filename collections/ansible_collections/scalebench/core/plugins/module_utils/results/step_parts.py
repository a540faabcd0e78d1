"""What a step of several devices is made of: computation, input, the exchange, slower ranks."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..records.cells import cell_key
from ..records.factors import factor_values, is_strong
from ..records.node_names import cores_of_machine, machines_of
from ..records.results import MeasuredCell, StepCell, StepGroup, StepParts
from ..records.runs import RankWaits
from ..stats.statistics import median
from ..topology import world_size
from .collectives import all_reduce_times, variant
from .ring_law import Times, ring_law
from .scaling import BASELINE, base_topology
from .strong_scaling import step_times

__all__ = ["delays", "gradient_bytes", "one_device_cell", "scaling_groups", "step_parts"]

Nodes = Mapping[str, Mapping[str, Any]]
# Bytes of a parameter's gradient by precision: automatic mixed precision, of bfloat16 too, keeps
# weights and gradients in fp32.
_GRADIENT_BYTES = {"fp32": 4, "tf32": 4, "amp": 4, "bf16": 4, "fp16": 2}
_WAITS = ("input_seconds", "exchange_seconds", "imbalance_seconds", "core_wait_seconds")
# Factors that one device with the same batch may differ in.
_OF_BATCH = ("batch_size_per_device", "global_batch_size", "scaling")


class _Alone(NamedTuple):
    """A step of one device in s, and how long it waits in it for input and for a core."""

    step: float
    input: Optional[float]
    core: Optional[float]

    def over(self, devices: int) -> _Alone:
        """Return the share of each of so many devices."""
        waits = [None if part is None else part / devices for part in self[1:]]
        return _Alone(self.step / devices, *waits)


def step_parts(
    cells: Sequence[MeasuredCell], nodes: Mapping[str, Mapping[str, Any]] = {}
) -> Optional[StepParts]:
    """Return the parts of steps; None where neither exchange nor all-reduce was measured.

    Every part is measured by itself, and what is left is ``unexplained_seconds``, also below 0.

    - Compute: the step on one device in the same campaign, without its input. Of weak scaling that
      of the same batch; of strong scaling the device's share of the global batch's.
    - Small batch, of strong scaling: by how much longer one device computes on a device's batch
      than that share, where the campaign has one device with this batch.
    - Input: how long the middle rank waits for its batch.
    - Exchange: the wait of the rank that reached it last, from the end of its backward pass. What
      was exchanged before that end, beside computation, is hidden.
    - Imbalance: by how much longer the middle rank waited, so by how much the last one was later.
    - Core wait: by how much longer the middle rank was ready to run without a core than one device
      alone, as other threads had it.

    ``all_reduce_seconds`` is the duration of one all-reduce of the model's gradients on the same
    topology, with nothing beside it, by the ``ring_law`` of this topology's; ``hidden_seconds`` is
    how much longer that takes than the exposed exchange.

    :param nodes: fingerprints by name, for the number of cores.
    """
    alone = all_reduce_times(cells)
    found = [
        _group(members, cells, alone.get(variant(members[0]), {}), nodes)
        for members in scaling_groups(cells)
    ]
    explained = [one for one in found if any(_measured(cell) for cell in one["cells"])]
    return {"groups": explained} if explained else None


def scaling_groups(cells: Sequence[MeasuredCell]) -> List[List[MeasuredCell]]:
    """Return the cells that differ in topology alone, group by group."""
    groups: Dict[Tuple[str, ...], List[MeasuredCell]] = {}
    for cell in cells:
        groups.setdefault(cell_key(cell).group, []).append(cell)
    return list(groups.values())


def one_device_cell(
    cells: Sequence[MeasuredCell], like: MeasuredCell, batch: int
) -> Optional[MeasuredCell]:
    """Return the cell of one device that trains as ``like`` does, on a batch of this size.

    Of weak or of strong scaling; None where none was measured.
    """
    return next(
        (
            cell
            for cell in cells
            if cell["topology"] == BASELINE
            and cell["batch_size_per_device"] == batch
            and _training(cell) == _training(like)
            and step_times([cell])
        ),
        None,
    )


def _training(cell: MeasuredCell) -> Dict[str, Any]:
    """Return what a cell trains, without topology and batch."""
    values = {name: one for name, one in factor_values(cell).items() if name not in _OF_BATCH}
    return {**values, "benchmark": cell["benchmark"], "model": cell["model"]}


def _measured(cell: StepCell) -> bool:
    return cell["exchange_seconds"] is not None or cell["all_reduce_seconds"] is not None


def _group(
    members: Sequence[MeasuredCell], cells: Sequence[MeasuredCell], alone: Times, nodes: Nodes
) -> StepGroup:
    times = step_times(members)
    base = base_topology(members)
    several = [
        cell for cell in members if cell["devices"] > world_size(base) and cell["topology"] in times
    ]
    several.sort(key=lambda cell: (cell["devices"], cell["nodes"]))
    key = cell_key(members[0])
    found: StepGroup = {
        "benchmark": key.benchmark,
        "precision": key.precision,
        "variant": key.variant,
        "model": key.model,
        "scaling": "strong" if is_strong(members[0]) else "weak",
        "gradient_bytes": gradient_bytes(members),
        "cells": [],
    }
    single = next((cell for cell in members if cell["topology"] == base), None)
    if single is not None and base in times and world_size(base) == 1:
        one = _alone(single, times[base])
        found["cells"] = [
            _cell(cell, times[cell["topology"]], one, cells, found, alone, nodes)
            for cell in several
        ]
    return found


def _alone(cell: MeasuredCell, times: Sequence[float]) -> _Alone:
    waits = _waits(cell)
    return _Alone(
        median(times), _middle(waits, "input_seconds"), _middle(waits, "core_wait_seconds")
    )


def _cell(
    cell: MeasuredCell,
    times: Sequence[float],
    one: _Alone,
    cells: Sequence[MeasuredCell],
    group: StepGroup,
    alone: Times,
    nodes: Nodes,
) -> StepCell:
    """Return the parts of a step.

    :param one: the step on one device, of strong scaling with the batch of all devices.
    """
    waits = _waits(cell)
    given, exchange, imbalance, core = (_middle(waits, key) for key in _WAITS)
    topology, step, size = cell["topology"], median(times), group["gradient_bytes"]
    share, same = (one.over(cell["devices"]), None) if is_strong(cell) else (one, one)
    if is_strong(cell):
        like = one_device_cell(cells, cell, cell["batch_size_per_device"])
        same = _alone(like, step_times([like])[BASELINE]) if like else None
    reference = same or share
    known = given is not None and None not in (share.input, reference.input)
    compute = share.step - (share.input or 0.0 if known else 0.0)
    small = None
    if same is not None and same is not share:
        small = same.step - (same.input or 0.0 if known else 0.0) - compute
    if core is not None:
        core = None if reference.core is None else core - reference.core
    parts = [compute, small, given if known else None, exchange, imbalance, core]
    law = ring_law(alone, [topology], size) if size and topology in alone else None
    all_reduce = law.seconds(topology) if law else None
    return {
        "topology": topology,
        "devices": cell["devices"],
        "batch_size_per_device": cell["batch_size_per_device"],
        "oversubscribed": bool(cell["oversubscribed"]),
        "cores": _cores(cell, nodes),
        "step_seconds": step,
        "speedup": share.step * cell["devices"] / step,
        "one_device_seconds": same.step if same else None,
        "compute_seconds": compute,
        "small_batch_seconds": small,
        "input_seconds": given if known else None,
        "exchange_seconds": exchange,
        "imbalance_seconds": imbalance,
        "core_wait_seconds": core,
        "unexplained_seconds": None
        if exchange is None
        else step - math.fsum(part for part in parts if part is not None),
        "all_reduce_seconds": all_reduce,
        "all_reduce_error": math.sqrt(law.variance({topology: 1.0})) if law else None,
        "hidden_seconds": None if all_reduce is None or exchange is None else all_reduce - exchange,
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


def _waits(cell: MeasuredCell) -> List[Dict[str, float]]:
    """Return what the ranks of each repeat waited for, s of a step, without what is not known."""
    found = []
    for repeat in cell["repeats"]:
        ranks: List[Dict[str, Any]] = [{**rank} for rank in repeat.get("waits") or ()]
        if not ranks:
            continue
        middle = {
            key: median([rank[key] for rank in ranks])
            for key in ("input_seconds", "core_wait_seconds")
            if all(key in rank for rank in ranks)
        }
        waited = _waited(repeat["waits"])
        if waited is not None:
            middle["exchange_seconds"], middle["imbalance_seconds"] = waited
        found.append(middle)
    return found


def _middle(waits: Sequence[Mapping[str, float]], key: str) -> Optional[float]:
    """Return the median over the repeats that know it; None without any."""
    known = [one[key] for one in waits if key in one]
    return median(known) if known else None


def delays(*cells: MeasuredCell) -> List[List[float]]:
    """Return what imbalance and waits for input and cores add to a step, by cell and repeat, in s.

    What only some of the cells know of all their repeats counts for none, but for the imbalance,
    which one device does not have.
    """
    waits = [_waits(cell) for cell in cells]
    known = [
        key
        for key in ("input_seconds", "core_wait_seconds")
        if all(own and all(key in one for one in own) for own in waits)
    ]
    return [
        [math.fsum(one.get(key, 0.0) for key in (*known, "imbalance_seconds")) for one in own]
        for own in waits
    ]


def _cores(cell: MeasuredCell, nodes: Nodes) -> Optional[int]:
    """Return how many cores the machines of a cell have; None where that is not known."""
    machines = machines_of(nodes)
    together: Dict[str, List[Mapping[str, Any]]] = {}
    for name in cell["node_names"] or ():
        if name in nodes:
            together.setdefault(machines[name], []).append(nodes[name])
    cores = [cores_of_machine(one) for one in together.values()]
    known = [count for count in cores if count is not None]
    return sum(known) if known and len(known) == len(cores) else None


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
