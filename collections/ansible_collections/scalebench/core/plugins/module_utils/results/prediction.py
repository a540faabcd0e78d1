"""What a step takes on other numbers of nodes, from measured steps and all-reduces."""

from __future__ import annotations

import math
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ..records.cells import cell_key
from ..records.factors import is_strong
from ..records.results import (
    MeasuredCell,
    Prediction,
    PredictionGroup,
    Predictions,
)
from ..stats.distributions import t_quantile
from ..stats.statistics import mean, median
from ..topology import parse_topology, world_size
from .collectives import all_reduce_times, variant
from .ring_law import FEWEST_SIZES, Times, ring_law
from .scaling import BASELINE, base_topology
from .step_parts import delays, gradient_bytes, one_device_cell, scaling_groups
from .strong_scaling import step_times

__all__ = ["predictions", "wanted_topologies"]

LEVEL = 0.95


class _Step(NamedTuple):
    """A duration in seconds with its variance, of ``freedom`` degrees; 0: not known."""

    seconds: float
    variance: float
    freedom: float


class _Known(NamedTuple):
    """A measured duration that counts ``weight`` times.

    It is a step of a topology, with its all-reduce, or has none.
    """

    weight: float
    topology: Optional[str]
    times: Sequence[float]


class _Group(NamedTuple):
    """Cells that differ in topology alone, and what is known of their steps."""

    members: Sequence[MeasuredCell]
    times: Mapping[str, Sequence[float]]
    cells: Sequence[MeasuredCell]
    alone: Times
    size: int

    @property
    def strong(self) -> bool:
        return is_strong(self.members[0])

    def samples(self, topology: str) -> float:
        """Return what a step of all devices trains on, in what the throughput counts."""
        first = self.members[0]
        each = first.get("units_per_sample", 1)
        if self.strong:
            return float((first["global_batch_size"] or 0) * each)
        sizes = (cell["batch_size_per_device"] for cell in self.members)
        batch = next(size for size in sizes if isinstance(size, int))
        return float(batch * world_size(topology) * each)

    def smaller(self, name: str, among: Mapping[str, object]) -> List[str]:
        """Return those of several nodes with as many devices each, but fewer nodes; in order."""
        nodes, devices = parse_topology(name)
        able = [one for one in among if parse_topology(one)[1] == devices]
        return sorted((one for one in able if 1 < _nodes(one) < nodes), key=world_size)


def wanted_topologies(text: str) -> List[str]:
    """Return the topologies of a list with commas, such as ``16n8g,64n8g``; each once.

    :raises ValueError: one is no topology.
    """
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        parse_topology(name)
    return names


def predictions(cells: Sequence[MeasuredCell], wanted: Sequence[str] = ()) -> Optional[Predictions]:
    """Return the predicted steps of data-parallel training; None without any.

    A step takes what measured ones take without their all-reduce of the model's gradients, and the
    all-reduce of its own topology. So what is hidden of it beside the backward pass stays hidden,
    and all else stays as it is. The all-reduce follows ``ring_law.RingLaw``, fitted to measured
    ones with as many devices on each node.

    What steps take without it is the same on all topologies in weak scaling. In strong scaling it
    is s + p / n on n devices, by Amdahl's law through the two largest topologies that are known.

    - ``parts``: of a measured topology, by its own all-reduce, one device with the same batch per
      device, and what its ranks measured: imbalance, waits for cores, more input.
    - ``left_out``: the largest measured one that smaller ones can tell of, of these only.
    - ``asked``: each of ``wanted``, of all smaller ones, also in place of the one before.
    """
    alone = all_reduce_times(cells)
    found = []
    for members in scaling_groups(cells):
        size, times = gradient_bytes(members), step_times(members)
        if size and base_topology(members) in times:
            own = alone.get(variant(members[0]), {})
            found.append(_group(_Group(members, times, cells, own, size), wanted))
    said = [one for one in found if one["rows"]]
    return {"level": LEVEL, "groups": said} if said else None


def _group(group: _Group, wanted: Sequence[str]) -> PredictionGroup:
    several = sorted((name for name in group.times if _nodes(name) > 1), key=world_size)
    rows = [_from_parts(name, group) for name in several if name in group.alone]
    left_out = [name for name in several if group.smaller(name, group.alone)][-1:]
    rows += [_from_smaller("left_out", name, group) for name in left_out if name not in wanted]
    rows += [_from_smaller("asked", name, group) for name in wanted]
    shared = {cell["topology"] for cell in group.members if cell["oversubscribed"]}
    for row in rows:
        row["oversubscribed"] = bool({row["topology"], *row["steps"]} & shared)
    key = cell_key(group.members[0])
    return {
        "benchmark": key.benchmark,
        "precision": key.precision,
        "variant": key.variant,
        "model": key.model,
        "scaling": "strong" if group.strong else "weak",
        "gradient_bytes": group.size,
        "unit": next((cell["unit"] for cell in group.members if cell["unit"]), None),
        "rows": rows,
    }


def _nodes(name: str) -> int:
    return parse_topology(name)[0]


def _from_parts(name: str, group: _Group) -> Prediction:
    cell = next(one for one in group.members if one["topology"] == name)
    batch, times = cell["batch_size_per_device"], group.times.get(BASELINE)
    if group.strong:
        like = one_device_cell(group.cells, cell, batch)
        times = step_times([like])[BASELINE] if like else None
    else:
        like = next((one for one in group.members if one["topology"] == BASELINE), None)
    if like is None or times is None:
        reason = (
            f"1n1g with batch size {batch} is needed in the same campaign:"
            f" -e scaling=weak,strong -e batch_size_per_device={batch}"
        )
        return _row("parts", name, group, [], [name], reason)
    own, alone = delays(cell, like)
    if len(alone) == len(times):
        # A step has its own waits in it: of one repeat the two are no independent figures.
        known = [_Known(1.0, BASELINE, [step - wait for step, wait in zip(times, alone)])]
    else:
        known = [_Known(1.0, BASELINE, times), _Known(-1.0, None, alone)]
    known.append(_Known(1.0, None, own))
    known = [one for one in known if one.times]
    return _row("parts", name, group, [BASELINE], [name], _step(name, known, [name], group))


def _from_smaller(kind: str, name: str, group: _Group) -> Prediction:
    network = group.smaller(name, group.alone)
    able = [one for one in (BASELINE,) if one in group.times and one != name]
    bases = [*able, *group.smaller(name, group.times)][-(2 if group.strong else 1) :]
    if world_size(name) == 1:
        return _row(kind, name, group, bases, network, "one device has nothing to exchange")
    if _nodes(name) <= 2:
        reason = f"nothing smaller than {name} has several nodes"
        reason += "" if name in group.times else ": measure it"
        return _row(kind, name, group, bases, network, reason)
    if group.strong:
        batch = group.members[0]["global_batch_size"] or 0
        if batch % world_size(name):
            reason = f"the global batch of {batch} does not divide over {world_size(name)} devices"
            return _row(kind, name, group, bases, network, reason)
        if len(bases) < 2:
            reason = f"steps on two topologies smaller than {name} are needed"
            return _row(kind, name, group, bases, network, reason)
    step = _step(name, _weighted(name, bases, group), network, group)
    return _row(kind, name, group, bases, network, step)


def _weighted(name: str, bases: Sequence[str], group: _Group) -> List[_Known]:
    """Return the steps that add up to one on a topology, all without their all-reduce.

    Of two, s + p / n is that of the second and so much of the difference.
    """
    *others, last = bases
    if not others:
        return [_Known(1.0, last, group.times[last])]
    n, below, above = world_size(name), world_size(others[0]), world_size(last)
    more = (1 / above - 1 / n) / (1 / below - 1 / above)
    return [
        _Known(-more, others[0], group.times[others[0]]),
        _Known(1 + more, last, group.times[last]),
    ]


def _row(
    kind: str,
    name: str,
    group: _Group,
    steps: Sequence[str],
    network: Sequence[str],
    step: Union[_Step, str],
) -> Prediction:
    """Return a row; without figures, and with the reason, where they cannot be known.

    :param step: or why it is not known.
    """
    row: Prediction = {
        "kind": kind,
        "topology": name,
        "devices": world_size(name),
        "steps": [*steps],
        "network": [*network],
        "oversubscribed": False,
        "samples": group.samples(name),
        "step_seconds": None,
        "step_low": None,
        "step_high": None,
        "speedup": None,
        "measured_speedup": None,
        "error": None,
        "reason": step if isinstance(step, str) else "",
    }
    base = base_topology(group.members)
    speed = group.samples(base) / median(group.times[base])
    if name in group.times:
        row["measured_speedup"] = row["samples"] / median(group.times[name]) / speed
    if isinstance(step, str):
        return row
    seconds = step.seconds
    row["step_seconds"] = seconds
    row["speedup"] = row["samples"] / seconds / speed
    if name in group.times:
        row["error"] = median(group.times[name]) / seconds - 1
    if step.freedom:
        reach = t_quantile((1 + LEVEL) / 2, step.freedom) * math.sqrt(step.variance)
        row["step_low"], row["step_high"] = max(seconds - reach, 0.0), seconds + reach
    return row


def _step(
    name: str, known: Sequence[_Known], network: Sequence[str], group: _Group
) -> Union[_Step, str]:
    """Return the sum of measured durations without their all-reduce, with that of a topology.

    Or why it is not known.
    """
    law = ring_law(group.alone, network, group.size)
    if law is None:
        return _no_law(name, network, group)
    weights = {name: 1.0, **{one.topology: -one.weight for one in known if one.topology}}
    seconds = math.fsum(weight * law.seconds(one) for one, weight in weights.items())
    seconds += math.fsum(one.weight * median(one.times) for one in known)
    if seconds <= 0:
        bases = " and ".join(one.topology for one in known if one.topology)
        return f"the steps on {bases} do not follow s + p / N: {name} would take no time"
    variances = [(law.variance(weights), float(law.line.freedom))]
    variances += [_variance(one) for one in known]
    both = math.fsum(variance for variance, _ in variances)
    freedom = 0.0
    if both and all(own for _, own in variances):
        # Welch and Satterthwaite.
        freedom = both**2 / math.fsum(variance**2 / own for variance, own in variances)
    return _Step(seconds, both, freedom)


def _no_law(name: str, network: Sequence[str], group: _Group) -> str:
    """Return why the all-reduces of some topologies say nothing of one's."""
    if any(len(group.alone[one]) >= FEWEST_SIZES for one in network):
        return (
            f"larger all-reduces took no longer on {', '.join(network)}, so they say nothing of"
            f" {group.size / 1e6:,.1f} MB: measure larger ones with -e message_bytes="
        )
    where = f"two or more nodes with {parse_topology(name)[1]} device(s) each, below {name},"
    if name in network:
        where = name
    return (
        f"{FEWEST_SIZES} sizes of benchmark all_reduce on {where} are needed:"
        " -e benchmark=TRAINING,all_reduce"
    )


def _variance(known: _Known) -> Tuple[float, float]:
    """Return the variance of a weighted median of times, and its degrees of freedom.

    For normal times it is at most pi / 2 that of their mean, and of two times equal to that.
    """
    freedom = len(known.times) - 1
    squares = math.fsum((one - mean(known.times)) ** 2 for one in known.times)
    if not freedom:
        return 0.0, 0.0
    above = math.pi / 2 if freedom > 1 else 1.0
    return known.weight**2 * above * squares / freedom / len(known.times), float(freedom)
