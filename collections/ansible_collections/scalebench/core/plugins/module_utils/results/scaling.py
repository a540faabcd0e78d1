"""From the speeds of repeats to the reference facts: average, median, speed-up, efficiency."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, TypeVar

from ..records.cells import cell_key
from ..records.factors import is_strong
from ..stats.rounding import round_as, round_speed
from ..stats.statistics import finite, mean, median
from ..topology import parse_topology, sort_topologies, world_size

__all__ = [
    "BASELINE",
    "base_cells",
    "base_topology",
    "efficiency",
    "reference_facts",
    "speedups",
]

BASELINE = "1n1g"
AnyCell = TypeVar("AnyCell", bound=Mapping[str, Any])
Facts = Dict[str, Dict[str, Dict[str, Any]]]


def base_topology(group: Iterable[Mapping[str, Any]]) -> str:
    """Return what the speed-ups of cells that differ in topology alone are relative to.

    1n1g in weak scaling, as in the reference efforts. In strong scaling the smallest topology that
    the global batch divides over: a large one may not fit on a single device.

    :param group: planned or measured cells, one at least.
    """
    cells = [*group]
    if not is_strong(cells[0]):
        return BASELINE
    sizes = {str(cell["topology"]): _size(cell["topology"]) for cell in cells}
    batch = cells[0]["global_batch_size"] or 0
    able = [topology for topology in sizes if not batch % sizes[topology][0]]
    return min(able or sizes, key=lambda topology: sizes[topology])


def _size(topology: str) -> Tuple[int, int]:
    """Return the devices of a topology, then its nodes."""
    return world_size(topology), parse_topology(topology)[0]


def base_cells(cells: Iterable[AnyCell]) -> Dict[Tuple[str, ...], AnyCell]:
    """Return by ``CellKey.group`` the cell that the speed-ups of the group are relative to.

    :param cells: planned or measured; a group without that cell has no entry.
    """
    groups: Dict[Tuple[str, ...], List[AnyCell]] = {}
    for cell in cells:
        groups.setdefault(cell_key(cell).group, []).append(cell)
    return {
        group: cell
        for group, members in groups.items()
        for cell in members
        if cell["topology"] == base_topology(members)
    }


def _speeds(topology: str, repeats: Any) -> List[float]:
    """Return the speeds of the repeats that gave one (None is a failed repeat), in samples/s."""
    if isinstance(repeats, Mapping):
        repeats = list(repeats.values())
    if not isinstance(repeats, (list, tuple)):
        raise ValueError(f"{topology}: {repeats!r} is not a list of speeds, one per repeat")
    given = [speed for speed in repeats if speed is not None]
    speeds = finite(given, f"speeds of {topology}") if given else []
    if any(speed <= 0 for speed in speeds):
        raise ValueError(
            f"{topology}: speed {min(speeds)!r} is not above 0; leave a failed one out"
        )
    return speeds


def _checked(by_topology: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(by_topology, Mapping):
        raise ValueError(f"{what} {by_topology!r}: a mapping from topology (as 1n8g) is needed")
    for topology in by_topology:
        parse_topology(topology)
    return by_topology


def _no_speedup(topology: str, base: Optional[float], baseline: str) -> str:
    return f"no speed of {topology}" if base is not None else f"no baseline: no speed of {baseline}"


def speedups(
    speeds: Any, baseline: str = BASELINE, rounding: str = "numpy_2"
) -> Dict[str, Optional[float]]:
    """Return speed / speed of ``baseline`` per topology; None where either is missing.

    ``speeds``: {topology: samples/s or None}. The reference efforts printed 1.0 for a missing
    baseline; here it is None.

    :raises ValueError: a key is not a topology, a speed is not a number above 0, no such rounding.
    """
    checked = {key: _speeds(key, [speed]) for key, speed in _checked(speeds, "speeds").items()}
    parse_topology(baseline)
    base = checked.get(baseline)
    return {
        key: round_as(checked[key][0] / base[0], rounding) if base and checked[key] else None
        for key in sort_topologies(checked)
    }


def reference_facts(
    runs: Any,
    model: str = "r50",
    batch_size_per_device: Optional[int] = None,
    *,
    baseline: str = BASELINE,
    rounding: str = "numpy_2",
    speedup_rounding: str = "numpy_2",
) -> Facts:
    """Return the reference facts of one group of cells.

    ``runs``: {topology: [samples/s per repeat] or {repeat: samples/s}}; None is a failed repeat.
    Returns {model: {topology: {average_speed, batch_size_per_device, median_speed, speedup}}},
    topologies in order. The speed-up is the quotient of the rounded medians, as in the
    ``extract_*_logs.py`` of the reference efforts. Where it cannot be computed it is None and
    ``speedup_reason`` says why.

    :raises ValueError: a key is not a topology, a speed is not a number above 0, no such rounding.
    """
    by_topology = {key: _speeds(key, value) for key, value in _checked(runs, "runs").items()}
    medians: Dict[str, Any] = {
        key: round_speed(median(speeds), rounding) if speeds else None
        for key, speeds in by_topology.items()
    }
    ratios = speedups(medians, baseline, speedup_rounding)
    facts: Dict[str, Dict[str, Any]] = {}
    for key in sort_topologies(by_topology):
        speeds = by_topology[key]
        facts[key] = {
            "average_speed": round_speed(mean(speeds), rounding) if speeds else None,
            "batch_size_per_device": batch_size_per_device,
            "median_speed": medians[key],
            "speedup": ratios[key],
        }
        if ratios[key] is None:
            facts[key]["speedup_reason"] = _no_speedup(key, medians.get(baseline), baseline)
    return {model: facts}


def efficiency(
    speedup: Optional[float], topology: str, baseline: str = BASELINE
) -> Optional[float]:
    """Return speed-up / (devices / devices of the baseline), unrounded: 1.0 is ideal scaling.

    :raises ValueError: a topology cannot be read.
    """
    if speedup is None:
        return None
    return speedup * world_size(baseline) / world_size(topology)
