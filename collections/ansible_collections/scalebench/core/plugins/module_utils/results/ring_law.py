"""How long an all-reduce takes on any number of devices, from measured ones."""

from __future__ import annotations

import math
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..stats.laws import Line, fitted_line
from ..stats.statistics import mean
from ..topology import world_size

__all__ = ["FEWEST_SIZES", "RingLaw", "Times", "ring_law"]

FEWEST_SIZES = 3
# Sizes that lie further away say little: libraries change algorithm and protocol between them.
_NEAR = 32
Times = Mapping[str, Mapping[float, Sequence[float]]]


class RingLaw(NamedTuple):
    """An all-reduce of S bytes on n devices takes (n - 1) a + (n - 1)/n S b seconds.

    That is a ring (Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters
    of workstations"): a is the latency of its two steps, b the seconds that two bytes take.
    """

    line: Line
    size: float

    def seconds(self, topology: str) -> float:
        """Return the duration on a topology; 0 on one device."""
        u, v = _ring(topology, self.size)
        return max(0.0, self.line.first * u + self.line.second * v)

    def variance(self, weights: Mapping[str, float]) -> float:
        """Return the variance of a sum of durations: a weight of each topology's."""
        rings = [(weight, *_ring(name, self.size)) for name, weight in weights.items()]
        u = math.fsum(weight * u for weight, u, _ in rings)
        v = math.fsum(weight * v for weight, _, v in rings)
        line = self.line
        return max(0.0, u * u * line.of_first + v * v * line.of_second + 2 * u * v * line.both)


def ring_law(times: Times, topologies: Iterable[str], size: float) -> Optional[RingLaw]:
    """Return the law for messages of a size; None with fewer than FEWEST_SIZES sizes measured.

    It is fitted to sizes within a factor of 32, and at least to the three nearest. Without a
    latency above 0 it has none. None too where larger sizes take no longer: all are bound by
    latency, and say nothing of this one.

    :param times: seconds above 0 of each repeat, by size in bytes, by topology.
    :param topologies: those of ``times`` to fit it to, of two devices or more.
    """
    points: Dict[Tuple[str, float], Sequence[float]] = {}
    for topology in topologies:
        own = times[topology]
        if len(own) >= FEWEST_SIZES:
            points.update({(topology, one): own[one] for one in _near([*own], size)})
    if not points:
        return None
    line = fitted_line(points, lambda place: _ring(*place))
    if line.first < 0:
        line = _without_latency(points)
    return RingLaw(line, size) if line.second > 0 else None


def _near(sizes: Sequence[float], size: float) -> List[float]:
    by_distance = sorted(sizes, key=lambda one: abs(math.log(one / size)))
    near = [one for one in by_distance if 1 / _NEAR <= one / size <= _NEAR]
    return near if len(near) >= FEWEST_SIZES else by_distance[:FEWEST_SIZES]


def _ring(topology: str, size: float) -> Tuple[float, float]:
    n = world_size(topology)
    return float(n - 1), (n - 1) / n * size


def _without_latency(points: Mapping[Tuple[str, float], Sequence[float]]) -> Line:
    """Return the line through 0, with the weights of :func:`stats.laws.fitted_line`."""
    relative = [
        (_ring(*place)[1] / mean(values), value / mean(values))
        for place, values in points.items()
        for value in values
    ]
    squares = math.fsum(v * v for v, _ in relative)
    second = math.fsum(v * t for v, t in relative) / squares
    freedom = len(relative) - 1
    noise = math.fsum((t - second * v) ** 2 for v, t in relative) / freedom
    return Line(0.0, second, 0.0, noise / squares, 0.0, freedom, True)
