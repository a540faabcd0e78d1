"""Groups of cells that differ in topology alone, their names, and the machines of a campaign."""

from __future__ import annotations

from collections import Counter
from typing import Dict, List, Mapping, Sequence, Tuple

from ..records.cells import GROUP_KEYS, CellKey, cell_key
from ..records.factors import is_strong
from ..records.node_names import machines_of
from ..records.results import MeasuredCell, Results

__all__ = [
    "cell_groups",
    "failures",
    "group_title",
    "labels",
    "listed",
    "machines",
    "named_cells",
]

Identity = Mapping[str, str]
_MOST_NAMED = 4


def cell_groups(results: Results) -> List[List[MeasuredCell]]:
    """Return the cells that differ in topology alone together, topologies in order."""
    groups: Dict[Tuple[str, ...], List[MeasuredCell]] = {}
    for cell in results["cells"]:
        groups.setdefault(cell_key(cell).group, []).append(cell)
    return [
        sorted(cells, key=lambda cell: (cell["nodes"], cell["devices_per_node"]))
        for cells in groups.values()
    ]


def group_title(cells: Sequence[MeasuredCell]) -> str:
    """Return what one group measured: ``pytorch fp32 bz4: r50, batch size 4 per device``.

    Of strong scaling: ``pytorch fp32 gb32-strong: r50, global batch size 32, strong scaling``.
    """
    key = cell_key(cells[0])
    batch = f"batch size {cells[0]['batch_size_per_device']} per device"
    if is_strong(cells[0]):
        batch = f"global batch size {cells[0]['global_batch_size']}, strong scaling"
    return f"{key.label} {key.variant}: {key.model}, {batch}"


def failures(results: Results) -> List[str]:
    """Return one line per failure of the campaign: log, ending, reason with the node."""
    return [
        f"{failure['log']}: {failure['ending']}: {failure['reason']}"
        for failure in results["failures"]
    ]


def machines(results: Results) -> Dict[str, List[str]]:
    """Return the names of the nodes by the machine they run on."""
    names: Dict[str, List[str]] = {}
    for name, machine in machines_of(results["provenance"].get("nodes") or {}).items():
        names.setdefault(machine, []).append(name)
    return names


def labels(groups: Sequence[Sequence[MeasuredCell]]) -> List[str]:
    """Name each group by what differs between the groups; a single one by its first two keys."""
    identities = [cell_key(cells[0])._asdict() for cells in groups]
    keys = _distinguishing(identities) if len(groups) > 1 else [*GROUP_KEYS[:2]]
    short = _short_benchmarks(identities)
    return [
        " ".join(short[one[key]] if key == "benchmark" else one[key] for key in keys)
        for one in identities
    ]


def _distinguishing(identities: Sequence[Identity]) -> List[str]:
    """Return the fewest keys that tell all groups apart; of several choices the first keys."""
    keys = [key for key in GROUP_KEYS if len({one[key] for one in identities}) > 1]
    for key in reversed(list(keys)):
        rest = [other for other in keys if other != key]
        if len({tuple(one[other] for other in rest) for one in identities}) == len(identities):
            keys = rest
    return keys


def _short_benchmarks(identities: Sequence[Identity]) -> Dict[str, str]:
    """Return by benchmark the end of its path, or the whole path where two have the same end."""
    ends = {one["benchmark"]: one["benchmark"].rpartition("/")[2] for one in identities}
    counts = Counter(ends.values())
    return {name: end if end and counts[end] == 1 else name for name, end in ends.items()}


def named_cells(results: Results) -> List[Tuple[str, MeasuredCell]]:
    """Return the label of its group with every cell, in the order of the groups."""
    groups = cell_groups(results)
    return [(label, cell) for label, cells in zip(labels(groups), groups) for cell in cells]


def listed(cells: Sequence[MeasuredCell], results: Results) -> str:
    """Name cells of the results; by their topology alone where the results have one group."""
    if len(cells) == len(results["cells"]):
        return "all cells"
    chosen = {id(cell) for cell in cells}
    places: Dict[CellKey, Tuple[str, List[str]]] = {}
    for label, cell in named_cells(results):
        _, topologies = places.setdefault(cell_key(cell)._replace(topology=""), (label, []))
        if id(cell) in chosen:
            topologies.append(cell["topology"])
    named = [
        f"{label} {', '.join(topologies)}" if len(places) > 1 else ", ".join(topologies)
        for label, topologies in places.values()
        if topologies
    ]
    rest = f"; and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return "; ".join(named[:_MOST_NAMED]) + rest
