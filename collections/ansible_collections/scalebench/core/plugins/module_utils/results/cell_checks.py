"""Checks across measured cells: a speed-up that cannot be, and speeds that are oddly ordered."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.scalebench.core.plugins.module_utils.records.cells import (
    cell_key,
    task_values,
)

__all__ = ["PAIRS", "RULES", "broken", "warnings"]

Cell = Mapping[str, Any]
Found = Dict[Tuple[str, ...], List[Dict[str, str]]]

# For the report: what each rule says, and where it comes from.
RULES: Dict[str, Dict[str, str]] = {
    "speedup_at_most_ideal": {
        "about": "The speed-up is at most the number of devices, give or take the noise.",
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
        "about": "A device is no faster among more devices than among fewer.",
        "source": "each device does the same work and more of them wait for each other",
    },
}
# (rule, factor, the value expected to be slower, the one expected to be faster)
PAIRS = (
    ("amp_not_slower", "precision", "fp32", "amp"),
    ("real_not_faster", "data", "real", "synthetic"),
    ("dali_not_slower", "data_backend", "native", "dali"),
)
# The medians of three repeats have intervals that miss each other by chance once in 20 pairs, of
# two repeats once in six. A difference of 2 % is not worth a warning even where it is certain.
_LEAST_REPEATS, _MARGIN = 3, 0.02


def broken(cells: Sequence[Cell], tolerance: float = 1.05) -> Found:
    """Return by ``cell_key`` what makes a cell invalid, as ``{"rule", "detail"}``; most have none.

    The batch size is per device, so a device does the same work with the same memory at every
    topology, and the caches that make strong scaling superlinear have no part here. What is left
    for the tolerance is noise, most of all of the 1n1g that everything is measured against, and
    what a node does once for all its devices, such as reading. Seed 004's noisiest repeats range
    over 6 %, their medians less. An interval of the speed-up must exclude the ideal as well.

    :param cells: measured, with ``speedup`` (``cells.add_scaling``).
    :param tolerance: the largest speed-up, as a multiple of the number of devices.
    """
    found: Found = {}
    for cell in cells:
        speedup, ideal = cell.get("speedup"), cell["devices"]
        low = (cell.get("speedup_interval") or {}).get("low")
        if speedup is None or speedup <= ideal * tolerance or (low is not None and low <= ideal):
            continue
        detail = (
            f"speed-up {speedup} on {ideal} device(s), more than {tolerance:g} x ideal: either"
            f" {cell['topology']} is too fast or 1n1g too slow"
        )
        found.setdefault(cell_key(cell), []).append(_entry("speedup_at_most_ideal", detail))
    return found


def warnings(cells: Sequence[Cell]) -> Found:
    """Return by ``cell_key`` what looks odd, as ``{"rule", "detail"}``.

    Only where the intervals of the two medians, of 3 repeats or more each, lie apart by 2 %.
    Scaling is not judged in cells that run more processes than their machines have cores.

    :param cells: measured (``cells.measure_cell``), with ``median_speed`` in samples/s.
    """
    found: Found = {}
    by_factors = {_factors(cell): cell for cell in cells}
    for cell in cells:
        entries = [*_against_variants(cell, by_factors), *_against_smaller(cell, cells)]
        if entries:
            found[cell_key(cell)] = entries
    return found


def _factors(cell: Cell, **changes: Any) -> Tuple[str, ...]:
    return tuple(str(value) for value in {**task_values(cell), **changes}.values())


def _against_variants(
    cell: Cell, by_factors: Mapping[Tuple[str, ...], Cell]
) -> Iterator[Dict[str, str]]:
    """Compare the cell with the one that should be slower, all other factors the same."""
    for rule, factor, slow, fast in PAIRS:
        slower = by_factors.get(_factors(cell, **{factor: slow}))
        if cell.get(factor) != fast or slower is None:
            continue
        if factor == "precision" and cell.get("device") == "cpu":
            continue  # few CPUs compute faster in bf16
        if _is_below(cell, slower):
            yield _entry(rule, f"{_speed(cell, fast)}, but {_speed(slower, slow)}")


def _against_smaller(cell: Cell, cells: Sequence[Cell]) -> Iterator[Dict[str, str]]:
    """Compare the cell with the next smaller topology that is a part of it.

    4n1g is no part of 1n8g: devices of one node reach each other on another path.
    """
    alike = _factors(cell, topology="")
    smaller = [
        other
        for other in cells
        if other["devices"] < cell["devices"]
        and other["nodes"] <= cell["nodes"]
        and other["devices_per_node"] <= cell["devices_per_node"]
        and _factors(other, topology="") == alike
    ]
    if not smaller or cell.get("oversubscribed"):
        return
    below = max(smaller, key=lambda other: (other["devices"], other["devices_per_node"]))
    if _is_below(cell, below):
        rule = "more_devices_not_slower"
        yield _entry(rule, f"{_speed(cell)}, but {_speed(below)}")
    if _is_below(below, cell, per_device=True):
        each = [round(one["median_speed"] / one["devices"], 2) for one in (cell, below)]
        yield _entry(
            "efficiency_not_growing",
            f"{each[0]} a device with {cell['topology']}, but {each[1]} with {below['topology']}",
        )


def _is_below(cell: Cell, other: Cell, per_device: bool = False) -> bool:
    """Return whether the whole interval of a cell's median is below that of the other's."""
    ours, theirs = _bounds(cell, per_device), _bounds(other, per_device)
    return ours is not None and theirs is not None and ours[1] < theirs[0] * (1 - _MARGIN)


def _bounds(cell: Cell, per_device: bool) -> Optional[Tuple[float, float]]:
    interval = cell.get("interval") or {}
    if interval.get("low") is None or interval["n"] < _LEAST_REPEATS:
        return None
    share = cell["devices"] if per_device else 1
    return interval["low"] / share, interval["high"] / share


def _speed(cell: Cell, value: str = "") -> str:
    return f"{cell['median_speed']} with {value or cell['topology']}"


def _entry(rule: str, detail: str) -> Dict[str, str]:
    return {"rule": rule, "detail": detail}
