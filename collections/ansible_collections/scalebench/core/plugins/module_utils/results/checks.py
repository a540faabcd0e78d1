"""Checks of measured cells: impossible speed-ups, an unexpected order, a transport not told."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ..records.cells import CellKey, cell_key, task_values
from ..records.factors import is_strong
from ..records.results import Finding, MeasuredCell
from ..records.runs import RunRecord
from ..running import invariants
from ..stats.rounding import round_speed
from .repeats import UNKNOWN_WAY

__all__ = ["RULES", "applied_checks", "broken", "units_differ", "warnings"]

Cells = Sequence[MeasuredCell]
Findings = Dict[CellKey, List[Finding]]

# For the report: what each rule says, and where it comes from.
RULES: Dict[str, Dict[str, str]] = {
    "speedup_at_most_ideal": {
        "about": "The speed-up is at most the number of devices, within noise.",
        "source": "each device does the same work at every topology (weak scaling), and waits",
    },
    "amp_not_slower": {
        "about": "Mixed precision on a GPU is at least as fast as fp32.",
        "source": "Micikevicius et al. 2018 (arXiv 1710.03740)",
    },
    "real_not_faster": {
        "about": "Training on real data is no faster than on synthetic data.",
        "source": "the same steps, and reading and decoding besides",
    },
    "dali_not_slower": {
        "about": "Reading with DALI is at least as fast as with the framework's own reader.",
        "source": "NVIDIA DALI documentation: decoding on the GPU, to relieve a reader that lags",
    },
    "more_devices_not_slower": {
        "about": "More devices are at least as fast as fewer of them.",
        "source": "each device has the same work, so that more of them do more of it at once",
    },
    "efficiency_not_growing": {
        "about": "The throughput per device does not grow with the number of devices.",
        "source": "each device does the same work and more of them wait for each other",
    },
    "transport_told": {
        "about": "The ranks tell the transport that is expected between their nodes.",
        "source": "NCCL's lines of NCCL_DEBUG=INFO, one file for each rank; of TCP the kernel's"
        " counters of traffic, where an interface carried 1 MiB or more",
    },
}
# The only rule that is more than a warning.
_BREAKS = "speedup_at_most_ideal"
# The only one about a cell by itself.
_TOLD = "transport_told"
# (rule, factor, the value expected to be slower, the one expected to be faster)
_PAIRS = (
    ("amp_not_slower", "precision", "fp32", "amp"),
    ("real_not_faster", "data", "real", "synthetic"),
    ("dali_not_slower", "data_backend", "native", "dali"),
)
# Of three repeats the interval of one median lies below that of its equal once in 20 pairs, of two
# repeats once in six. A difference of 2 % is not worth a warning even where it is certain.
_LEAST_REPEATS, _MARGIN = 3, 0.02
# Of one repeat no noise is known: at a cv of 5 %, twice that of the noisiest published logs, one
# speed-up in 1,100 is above the ideal by so much.
_TOLERANCE_OF_ONE = 1.25
# The first schema of run records whose endings the invariants were part of.
_CHECKED_SCHEMA = 2


def broken(cells: Cells, tolerance: float = 1.05) -> Findings:
    """Return by ``cell_key`` what makes a cell invalid, as ``{"rule", "detail"}``; most have none.

    Cells of weak scaling are judged: a device does the same work with the same memory at every
    topology, and the caches that make strong scaling superlinear have no part here. What is left
    for the tolerance is noise, most of all of the 1n1g that everything is measured against, and
    what a node does once for all its devices, such as reading. The noisiest repeats of reference
    004 range over 6 %, their medians less. The interval of the speed-up must exclude the ideal as
    well; of one repeat there is none, and the tolerance is 25 %.

    :param cells: measured, with ``speedup`` (``cells.add_facts``).
    :param tolerance: the largest speed-up, as a multiple of the number of devices.
    """
    findings: Findings = {}
    for cell in (one for one in cells if not is_strong(one)):
        speedup, ideal = cell.get("speedup"), cell["devices"]
        interval = cell.get("speedup_interval")
        low = interval["low"] if interval else None
        limit = max(tolerance, _TOLERANCE_OF_ONE) if low is None else tolerance
        if speedup is None or speedup <= ideal * limit or (low is not None and low <= ideal):
            continue
        detail = (
            f"speed-up {speedup} on {ideal} device(s), more than {limit:g} x ideal: either"
            f" {cell['topology']} is too fast or 1n1g too slow"
        )
        findings.setdefault(cell_key(cell), []).append(_finding("speedup_at_most_ideal", detail))
    return findings


def warnings(cells: Cells, machines: Mapping[str, str]) -> Findings:
    """Return by ``cell_key`` what looks odd, as ``{"rule", "detail"}``.

    Speeds only where the intervals of the two medians, of 3 repeats or more each, lie apart by 2 %.
    Scaling is not judged in cells that run more processes than their machines have cores, and
    not on CPUs whose cores several nodes share: their ranks take memory bandwidth and cores for
    the exchange from each other.

    :param cells: measured (``cells.measure_cell``), with ``median_speed`` in samples/s.
    :param machines: of the nodes, by name (``node_names.machines_of``).
    """
    findings: Findings = {}
    by_conditions = {_conditions(cell): cell for cell in cells}
    smaller = _next_smaller(cells)
    for place, cell in enumerate(cells):
        others = [*_against_variants(cell, by_conditions)]
        if not _shares_cores(cell, machines):
            others += _against_smaller(cell, smaller.get(place))
        entries = [*_untold(cell), *others]
        if entries:
            findings[cell_key(cell)] = entries
    return findings


def _untold(cell: MeasuredCell) -> Iterator[Finding]:
    """Find the repeats that a fall-back to TCP would not show in."""
    good = [repeat for repeat in cell["repeats"] if repeat["ending"] == "ok"]
    told = [repeat.get("transport") or [UNKNOWN_WAY] for repeat in good]
    untold = [ways for ways in told if UNKNOWN_WAY in ways]
    if untold and "transport" in cell:
        by_traffic = cell["transport"].startswith("TCP/")
        where = (
            "1 MiB of messages, or telemetry, would tell"
            if by_traffic
            else "nccl.*.log in *.files there"
        )
        yield _finding(
            _TOLD,
            f"no rank told its transport, or not on all nodes, in {len(untold)} of {len(good)}"
            f" repeats; {cell['transport']} was expected between the nodes ({where})",
        )


def _conditions(cell: MeasuredCell, **changes: Any) -> Tuple[str, ...]:
    """Return everything that a cell is compared in, with ``changes``."""
    return tuple(str(value) for value in {**task_values(cell), **changes}.values())


def _against_variants(
    cell: MeasuredCell, by_conditions: Mapping[Tuple[str, ...], MeasuredCell]
) -> Iterator[Finding]:
    """Compare the cell with the one that should be slower, all other factors the same."""
    for rule, factor, slow, fast in _PAIRS:
        slower = by_conditions.get(_conditions(cell, **{factor: slow}))
        if cell.get(factor) != fast or slower is None:
            continue
        if factor == "precision" and cell.get("device") == "cpu":
            continue  # few CPUs compute faster in bf16
        if _is_below(cell, slower):
            yield _finding(rule, f"{_speed(cell, fast)}, but {_speed(slower, slow)}")


def _next_smaller(cells: Cells) -> Dict[int, MeasuredCell]:
    """Return by a cell's place the one of the next smaller topology that is a part of its own.

    4n1g is not a part of 1n8g: the devices of a node communicate over another path.
    """
    groups: Dict[Tuple[str, ...], List[int]] = {}
    for place, cell in enumerate(cells):
        groups.setdefault(_conditions(cell, topology=""), []).append(place)
    found: Dict[int, MeasuredCell] = {}
    for places in groups.values():
        places.sort(key=lambda at: (cells[at]["devices"], cells[at]["devices_per_node"]))
        for number, place in enumerate(places):
            # The largest first: nearly always it is the one.
            others = (cells[at] for at in reversed(places[:number]))
            below = next((one for one in others if _is_part(one, cells[place])), None)
            if below is not None:
                found[place] = below
    return found


def _is_part(other: MeasuredCell, cell: MeasuredCell) -> bool:
    return (
        other["devices"] < cell["devices"]
        and other["nodes"] <= cell["nodes"]
        and other["devices_per_node"] <= cell["devices_per_node"]
    )


def _shares_cores(cell: MeasuredCell, machines: Mapping[str, str]) -> bool:
    names = cell.get("node_names") or ()
    return cell.get("device") == "cpu" and len({machines.get(n, n) for n in names}) < len(names)


def _against_smaller(cell: MeasuredCell, below: Optional[MeasuredCell]) -> Iterator[Finding]:
    """Compare the cell with that of the next smaller topology, by :func:`_next_smaller`.

    Figures that have no speed-up need not grow with the devices.
    """
    if below is None or cell.get("oversubscribed") or "no_speedup" in cell:
        return
    if _is_below(cell, below):
        rule = "more_devices_not_slower"
        yield _finding(rule, f"{_speed(cell)}, but {_speed(below)}")
    if _is_below(below, cell, per_device=True):
        yield _finding(
            "efficiency_not_growing",
            f"{_device_speed(cell)} per device on {cell['topology']},"
            f" but {_device_speed(below)} on {below['topology']}",
        )


def units_differ(units: Iterable[Optional[str]]) -> bool:
    """Return whether throughputs of some units count different things: a sample may be any."""
    return len({*units} - {"samples/s", None}) > 1


def _is_below(cell: MeasuredCell, other: MeasuredCell, per_device: bool = False) -> bool:
    """Return whether the whole interval of a cell's median is below that of the other's."""
    if units_differ((cell["unit"], other["unit"])):
        return False
    ours, theirs = _bounds(cell, per_device), _bounds(other, per_device)
    return ours is not None and theirs is not None and ours[1] < theirs[0] * (1 - _MARGIN)


def _bounds(cell: MeasuredCell, per_device: bool) -> Optional[Tuple[float, float]]:
    """Return the interval of the median, None where there are too few repeats to judge."""
    interval = cell["interval"]
    if interval is None or interval["low"] is None or interval["high"] is None:
        return None
    if interval["n"] < _LEAST_REPEATS:
        return None
    share = cell["devices"] if per_device else 1
    return interval["low"] / share, interval["high"] / share


def _device_speed(cell: MeasuredCell) -> float:
    return round_speed((cell["median_speed"] or 0.0) / cell["devices"])


def _speed(cell: MeasuredCell, value: str = "") -> str:
    return f"{cell['median_speed']} with {value or cell['topology']}"


def _finding(rule: str, detail: str) -> Finding:
    return {"rule": rule, "detail": detail}


def applied_checks(runs: Sequence[RunRecord], cells: Cells) -> Dict[str, Dict[str, str]]:
    """Return the rules that the results were held against, in words, by the effect of a broken one.

    ``invalid_repeat`` and ``invalid_cell`` take a figure out of the results; ``warning`` does not.
    A rule that had nothing to compare is left out.

    :param runs: run records; those of schema 1 were not checked.
    :param cells: measured (``cells.measure_cell``).
    """
    checked = any(run.get("schema", 1) >= _CHECKED_SCHEMA for run in runs)
    compared = {rule: factor for rule, factor, _slow, _fast in _PAIRS}
    between = {
        name: about
        for name, about in _words(RULES).items()
        if (
            any("transport" in cell for cell in cells)
            if name == _TOLD
            else len(_values(cells, compared.get(name, ""))) > 1
        )
    }
    return {
        "invalid_repeat": _words(invariants.RULES) if checked else {},
        "invalid_cell": {name: between[name] for name in between if name == _BREAKS},
        "warning": {name: between[name] for name in between if name != _BREAKS},
    }


def _values(cells: Cells, factor: str) -> Set[str]:
    """Return the values of a factor; without one the topologies of weak scaling, which are judged.

    In strong scaling the batch of a device differs, and more of them may be slower; what has no
    speed-up need not grow.
    """
    if factor:
        return {str(cell.get(factor)) for cell in cells}
    judged = (cell for cell in cells if not is_strong(cell) and "no_speedup" not in cell)
    return {cell["topology"] for cell in judged}


def _words(rules: Mapping[str, Mapping[str, str]]) -> Dict[str, str]:
    return {name: rule["about"] for name, rule in rules.items()}
