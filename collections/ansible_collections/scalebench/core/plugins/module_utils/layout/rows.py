"""Groups of cells, their names and titles, and what a report needs of the machines."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..records.cells import GROUP_KEYS, cell_key

__all__ = ["cell_groups", "failures", "group_title", "labels", "listed", "machines", "percent"]

Cell = Mapping[str, Any]
_MOST_NAMED = 4


def cell_groups(results: Mapping[str, Any]) -> List[List[Cell]]:
    """Return the cells by benchmark, precision, variant and model, topologies in order."""
    groups: Dict[Tuple[str, ...], List[Cell]] = {}
    for cell in results["cells"]:
        groups.setdefault(cell_key(cell).group, []).append(cell)
    return [
        sorted(cells, key=lambda cell: (cell["nodes"], cell["devices_per_node"]))
        for cells in groups.values()
    ]


def group_title(cells: Sequence[Cell]) -> str:
    """Return what one group measured: ``pytorch fp32 bz4: r50, batch size 4 per device``."""
    cell = cells[0]
    return (
        f"{cell['benchmark']} {cell['precision']} {cell['variant']}: {cell['model']},"
        f" batch size {cell['batch_size_per_device']} per device"
    )


def percent(share: Optional[float]) -> Optional[float]:
    """Return a share as a number of percent, None for None."""
    return None if share is None else share * 100


def failures(results: Mapping[str, Any]) -> List[str]:
    """Return a line for all that makes the campaign fail: log, ending, reason with the node."""
    return [
        f"{failure['log']}: {failure['ending']}: {failure['reason'] or 'no reason given'}"
        for failure in results["failures"]
    ]


def machines(results: Mapping[str, Any]) -> Dict[str, List[str]]:
    """Return the names of the nodes by the machine that they are on."""
    found: Dict[str, List[str]] = {}
    for name, node in (results["provenance"].get("nodes") or {}).items():
        found.setdefault(node.get("machine_id") or name, []).append(name)
    return found


def labels(groups: Sequence[Sequence[Cell]]) -> List[str]:
    """Name each group by what tells it from the others; one alone by benchmark and precision."""
    said = [{name: str(cells[0][name]) for name in GROUP_KEYS} for cells in groups]
    for one in said:
        short = one["benchmark"].rpartition("/")[2]
        same = [other for other in said if other["benchmark"].rpartition("/")[2] == short]
        one["short"] = short if len({other["benchmark"] for other in same}) == 1 else ""
    names = ["benchmark", "precision"]
    if len(said) > 1:
        names = [name for name in GROUP_KEYS if len({one[name] for one in said}) > 1]
        for name in reversed(list(names)):
            rest = [other for other in names if other != name]
            if len({tuple(one[other] for other in rest) for one in said}) == len(said):
                names = rest
    return [
        " ".join((one["short"] if name == "benchmark" else "") or one[name] for name in names)
        for one in said
    ]


def listed(cells: Sequence[Cell], results: Mapping[str, Any]) -> str:
    """Name cells of the results; by their topology alone where the report has one group."""
    if len(cells) == len(results["cells"]):
        return "all cells"
    groups = cell_groups(results)
    chosen = {id(cell) for cell in cells}
    named = []
    for label, members in zip(labels(groups), groups):
        places = ", ".join(cell["topology"] for cell in members if id(cell) in chosen)
        if places:
            named.append(f"{label} {places}" if len(groups) > 1 else places)
    rest = f"; and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return "; ".join(named[:_MOST_NAMED]) + rest
