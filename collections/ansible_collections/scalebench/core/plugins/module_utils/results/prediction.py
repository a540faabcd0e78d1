"""What a step takes on other numbers of nodes, from measured steps and all-reduces."""

from __future__ import annotations

import math
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..records.cells import cell_key
from ..records.results import MeasuredCell, Prediction, PredictionGroup, Predictions, StepParts
from ..stats.statistics import mean, median
from ..stats.student_t import quantile
from ..topology import parse_topology, world_size
from .collectives import all_reduce_times
from .ring_law import FEWEST_SIZES, Times, ring_law
from .scaling import BASELINE
from .step_parts import gradient_bytes, weak_groups
from .strong_scaling import step_times

__all__ = ["predictions", "wanted_topologies"]

LEVEL = 0.95


class _Step(NamedTuple):
    """A duration in seconds with its variance, of ``freedom`` degrees; 0: not known."""

    seconds: float
    variance: float
    freedom: float


def wanted_topologies(text: str) -> List[str]:
    """Return the topologies of a list with commas, such as ``16n8g,64n8g``; none of ``""``.

    :raises ValueError: one is no topology.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        parse_topology(name)
    return names


def predictions(
    cells: Sequence[MeasuredCell], parts: Optional[StepParts], wanted: Sequence[str] = ()
) -> Optional[Predictions]:
    """Return the predicted steps of weak scaling of data-parallel training; None without any.

    A step takes what that on a measured topology takes, the base, plus by how much longer the
    all-reduce of the model's gradients takes. So what the base hides of it beside the backward pass
    stays hidden, and all else stays as it is. The all-reduce follows ``ring_law.RingLaw``, fitted
    to measured ones with as many devices on each node.

    - ``parts``: a measured topology, of 1n1g as base, its own all-reduce, and what its ranks
      measured: their imbalance and their waits for a core.
    - ``left_out``: the largest measured one, of smaller topologies only.
    - ``asked``: each of ``wanted``, of all smaller ones.

    :param parts: of the same cells.
    """
    alone = all_reduce_times(cells)
    late = _delays(parts)
    found = [_group(members, alone, late, wanted) for members in weak_groups(cells)]
    said = [one for one in found if one and one["rows"]]
    return {"level": LEVEL, "groups": said} if said else None


def _delays(parts: Optional[StepParts]) -> Dict[Tuple[str, ...], float]:
    """Return how long a step waits for its last rank and for cores, by group and topology."""
    return {
        (group["benchmark"], group["precision"], group["variant"], cell["topology"]): (
            (cell["imbalance_seconds"] or 0.0) + (cell["core_wait_seconds"] or 0.0)
        )
        for group in (parts["groups"] if parts else [])
        for cell in group["cells"]
    }


def _group(
    members: Sequence[MeasuredCell],
    alone: Times,
    late: Mapping[Tuple[str, ...], float],
    wanted: Sequence[str],
) -> Optional[PredictionGroup]:
    times = step_times(members)
    size = gradient_bytes(members)
    if BASELINE not in times or not size:
        return None
    key = cell_key(members[0])
    names = (key.benchmark, key.precision, key.variant)
    several = sorted((name for name in times if _nodes(name) > 1), key=world_size)
    rows = [
        _row("parts", name, BASELINE, [name], times, alone, size, late.get((*names, name), 0.0))
        for name in several
        if name in alone
    ]
    if several and _smaller(several[-1], alone):
        rows.append(_from_smaller("left_out", several[-1], times, alone, size))
    rows += [_from_smaller("asked", name, times, alone, size) for name in wanted]
    shared = {cell["topology"] for cell in members if cell["oversubscribed"]}
    for row in rows:
        row["oversubscribed"] = bool({row["topology"], row["base"]} & shared)
    return {
        "benchmark": key.benchmark,
        "precision": key.precision,
        "variant": key.variant,
        "model": key.model,
        "gradient_bytes": size,
        "samples_per_device": _samples_per_device(members),
        "unit": next((cell["unit"] for cell in members if cell["unit"]), None),
        "rows": rows,
    }


def _samples_per_device(members: Sequence[MeasuredCell]) -> float:
    """Return what one device trains on in a step, in what the throughput counts."""
    counted = (
        cell["batch_size_per_device"] * cell.get("units_per_sample", 1)
        for cell in members
        if isinstance(cell["batch_size_per_device"], int)
    )
    return float(next(counted))


def _nodes(name: str) -> int:
    return parse_topology(name)[0]


def _smaller(name: str, among: Mapping[str, object]) -> List[str]:
    """Return those of several nodes with as many devices each, but fewer nodes; smallest first."""
    nodes, devices = parse_topology(name)
    able = [one for one in among if parse_topology(one)[1] == devices and 1 < _nodes(one) < nodes]
    return sorted(able, key=world_size)


def _from_smaller(
    kind: str, name: str, times: Mapping[str, Sequence[float]], alone: Times, size: int
) -> Prediction:
    base = [BASELINE, *_smaller(name, times)][-1]
    return _row(kind, name, base, _smaller(name, alone), times, alone, size)


def _row(
    kind: str,
    name: str,
    base: str,
    network: Sequence[str],
    times: Mapping[str, Sequence[float]],
    alone: Times,
    size: int,
    late: float = 0.0,
) -> Prediction:
    """Return a row; without figures, and with the reason, where they cannot be known.

    :param late: seconds of a step by :func:`_delays`, where the base is one rank.
    """
    devices = world_size(name)
    step, reason = _step(name, base, network, times, alone, size)
    row: Prediction = {
        "kind": kind,
        "topology": name,
        "devices": devices,
        "base": base,
        "network": [*network],
        "oversubscribed": False,
        "step_seconds": None,
        "step_low": None,
        "step_high": None,
        "speedup": None,
        "measured_speedup": None,
        "error": None,
        "reason": reason,
    }
    one = median(times[BASELINE])
    if name in times:
        row["measured_speedup"] = devices * one / median(times[name])
    if step is None:
        return row
    seconds = step.seconds + late
    row["step_seconds"] = seconds
    row["speedup"] = devices * one / seconds
    if name in times:
        row["error"] = median(times[name]) / seconds - 1
    if step.freedom:
        reach = quantile((1 + LEVEL) / 2, step.freedom) * math.sqrt(step.variance)
        row["step_low"], row["step_high"] = max(seconds - reach, 0.0), seconds + reach
    return row


def _step(
    name: str,
    base: str,
    network: Sequence[str],
    times: Mapping[str, Sequence[float]],
    alone: Times,
    size: int,
) -> Tuple[Optional[_Step], str]:
    if world_size(name) == 1:
        return None, "one device has nothing to exchange"
    law = ring_law(alone, network, size)
    if law is None:
        per_node = parse_topology(name)[1]
        return None, (
            f"{FEWEST_SIZES} sizes of benchmark all_reduce on two or more nodes with {per_node}"
            f" device(s) each, below {name}, are needed: -e benchmark=TRAINING,all_reduce"
        )
    measured = times[base]
    exchange = law.seconds(name) - law.seconds(base)
    variance = law.variance_of_difference(name, base)
    own = sum((one - mean(measured)) ** 2 for one in measured)
    freedom = len(measured) - 1
    of_base = own / freedom / len(measured) if freedom else 0.0
    both = of_base + variance
    known = 0.0
    if freedom and law.line.freedom and both:
        # Welch and Satterthwaite.
        known = both**2 / (of_base**2 / freedom + variance**2 / law.line.freedom)
    return _Step(median(measured) + exchange, both, known), ""
