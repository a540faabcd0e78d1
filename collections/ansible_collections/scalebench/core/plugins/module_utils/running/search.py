"""The search for the largest batch size that runs: ``batch_size_per_device=max``."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..planning.options import MAX
from ..planning.plan import expected_identity, seated
from . import frontier

__all__ = ["belongs", "check_memory", "concrete", "groups", "largest", "next_probe"]

# The first step allocates, the others show that it lasts: on a CPU memory grows for some steps,
# until the free blocks fit.
_WARMUP, _ITERATIONS = 2, 8
# Images per device beyond which nobody trains ResNet-50.
_LIMIT = 65536

Cell = Mapping[str, Any]


def check_memory(cells: Sequence[Cell], memory_mib: int) -> None:
    """Refuse a search that the kernel would end by killing whatever is largest.

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
    """Return the cells whose batch size is searched, those together that differ in topology alone.

    They get one batch size, so that their speed-ups can be compared.
    """
    found: Dict[str, List[Cell]] = {}
    for cell in cells:
        if cell["batch_size_per_device"] == MAX:
            key = f"{cell['benchmark']}/{cell['variant']}/{cell['name']}"
            found.setdefault(key, []).append(cell)
    return list(found.values())


def concrete(cell: Cell, batch: int) -> Dict[str, Any]:
    """Return the cell with a batch size of its own, in images per device; it is ``searched``."""
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
    """Return whether a cell with a batch size is one of the group's but for that."""
    for one in group:
        made = concrete(one, cell["batch_size_per_device"])
        if all(made[key] == cell.get(key) for key in ("directory", "name")):
            return True
    return False


def next_probe(group: Sequence[Cell], endings: Mapping[int, str]) -> Optional[Dict[str, Any]]:
    """Return the repeat that tries the next batch size; None when the search has ended.

    It runs on the cell with the most devices, where buffers for the exchange of gradients come on
    top of what one device needs.

    :param group: one of ``groups``.
    :param endings: how the repeats of this search ended, by batch size.
    """
    if _spoiled(endings):
        return None
    batch = frontier.next_batch(_tried(endings), group[0]["search_from"], _LIMIT)
    if batch is None:
        return None
    widest = max(group, key=lambda cell: cell["nodes"] * cell["devices_per_node"])
    method = {"warmup": _WARMUP, "iterations": _ITERATIONS, "repeats": 1}
    cell = {**concrete(widest, batch), **method}
    cell["reading"] = _reading(widest, method)
    name = f"{cell['name']}_search"
    repeat = {
        "cell": {key: value for key, value in cell.items() if key != "commands"},
        "repeat": 1,
        "name": name,
        "log": f"logs/{cell['directory']}/{name}.log",
        "expect": expected_identity(cell),
        "kind": "search",
    }
    return seated(repeat, cell["node_names"])


def _reading(cell: Cell, method: Mapping[str, int]) -> Dict[str, Any]:
    """Return how a probe's log is read: by its own counts, where the rule takes the cell's."""
    reading = cell["reading"]
    counts = {
        key: method[key]
        for key, value in reading["parameters"].items()
        if key in method and value == cell[key]
    }
    return {**reading, "parameters": {**reading["parameters"], **counts}}


def largest(endings: Mapping[int, str]) -> int:
    """Return the largest batch size that ran.

    :raises ValueError: there is none, or a probe ended otherwise than well or out of memory.
    """
    spoiled = _spoiled(endings)
    if spoiled:
        raise ValueError(f"the search for the largest batch ended: {spoiled}")
    found = frontier.largest(_tried(endings))
    if found is None:
        raise ValueError("the search for the largest batch ended: 1 image is too many")
    return found


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
