"""The search for the largest batch size that runs: ``batch_size_per_device=max``."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ..planning.plan import planned_repeat
from ..records.cells import cell_key
from ..records.factors import MAX
from ..records.plans import Cell, PlannedRepeat, Reading
from . import frontier

__all__ = ["belongs", "check_memory", "concrete", "groups", "largest", "next_probe"]

# The first step allocates; on a CPU memory grows for some more steps, until the free blocks fit.
_WARMUP, _ITERATIONS = 2, 8
# No larger batch size per device is tried.
_LIMIT = 65536


def check_memory(cells: Sequence[Cell], memory_mib: int) -> None:
    """Refuse a search without a memory limit, which the kernel would end by killing processes.

    :param memory_mib: the limit for each process, 0 for none.
    :raises ValueError: a search on CPU nodes without a limit.
    """
    for cell in cells:
        if cell["batch_size_per_device"] == MAX and cell["device"] == "cpu" and not memory_mib:
            raise ValueError(
                f"-e batch_size_per_device={MAX}: on nodes without a GPU it needs a limit, as"
                " -e cell_memory_mib=4096, for each process; without one the kernel would kill"
                " processes when the machine's memory is exhausted"
            )


def groups(cells: Sequence[Cell]) -> List[List[Cell]]:
    """Return the cells whose batch size is searched, in groups that differ in topology alone.

    A group gets one batch size, so that its speed-ups can be compared.
    """
    by_group: Dict[Tuple[str, ...], List[Cell]] = {}
    for cell in cells:
        if cell["batch_size_per_device"] == MAX:
            by_group.setdefault(cell_key(cell).group, []).append(cell)
    return list(by_group.values())


def concrete(cell: Cell, batch: int) -> Cell:
    """Return the cell with a batch size per device of its own; it is ``searched``."""
    variant = f"bz{batch}{cell['variant'][len('bz' + MAX) :]}"
    return {
        **cell,
        "batch_size_per_device": batch,
        "searched": True,
        "variant": variant,
        "directory": f"{cell['benchmark']}/{variant}/{cell['topology']}",
        "name": f"{cell['model']}_b{batch}_{cell['precision']}",
    }


def belongs(cell: Cell, group: Sequence[Cell]) -> bool:
    """Return whether a cell differs from one of the group's in the batch size alone."""
    for searched in group:
        made = concrete(searched, cell["batch_size_per_device"])
        if (made["directory"], made["name"]) == (cell.get("directory"), cell.get("name")):
            return True
    return False


def next_probe(group: Sequence[Cell], endings: Mapping[int, str]) -> Optional[PlannedRepeat]:
    """Return the repeat that tries the next batch size; None when the search has ended.

    It runs on the cell with the most devices, where buffers for the exchange of gradients add to
    the memory of a single device.

    :param group: one of ``groups``.
    :param endings: how the repeats of this search ended, by batch size.
    """
    if _spoiled(endings):
        return None
    batch = frontier.next_batch(_tried(endings), group[0]["search_from"], _LIMIT)
    if batch is None:
        return None
    widest = max(group, key=lambda cell: cell["nodes"] * cell["devices_per_node"])
    cell: Cell = {
        **concrete(widest, batch),
        "warmup": _WARMUP,
        "iterations": _ITERATIONS,
        "repeats": 1,
        "reading": _reading(widest),
    }
    return {**planned_repeat(cell, 1, f"{cell['name']}_search"), "kind": "search"}


def _reading(cell: Cell) -> Reading:
    """Return how a probe's log is read: by its own counts, where the rule takes the cell's."""
    reading = cell["reading"]
    planned = {"warmup": cell["warmup"], "iterations": cell["iterations"]}
    probed = {"warmup": _WARMUP, "iterations": _ITERATIONS}
    parameters = {
        key: probed[key] if key in probed and value == planned[key] else value
        for key, value in reading["parameters"].items()
    }
    return {**reading, "parameters": parameters}


def largest(endings: Mapping[int, str]) -> int:
    """Return the largest batch size that ran.

    :raises ValueError: there is none, or a probe ended otherwise than well or out of memory.
    """
    spoiled = _spoiled(endings)
    if spoiled:
        raise ValueError(f"the search for the largest batch ended: {spoiled}")
    batch = frontier.largest(_tried(endings))
    if batch is None:
        raise ValueError("the search for the largest batch ended: a batch of 1 is too large")
    return batch


def _tried(endings: Mapping[int, str]) -> Dict[int, str]:
    return {
        batch: frontier.OUT_OF_MEMORY if ending == "out_of_memory" else frontier.FITS
        for batch, ending in endings.items()
    }


def _spoiled(endings: Mapping[int, str]) -> str:
    for batch, ending in endings.items():
        if ending not in ("ok", "out_of_memory"):
            return f"{ending} at {batch}"
    return ""
