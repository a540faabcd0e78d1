"""The search for the largest batch that fits into memory; cells that a smaller one rules out."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, cast

from ..planning.plan import planned_repeat
from ..records.cells import cell_key, log_place, task_values
from ..records.factors import MAX
from ..records.node_names import folded
from ..records.plans import LARGEST_BATCH, Cell, PlannedRepeat, Reading

__all__ = [
    "FITS",
    "OUT_OF_MEMORY",
    "belongs",
    "check_memory",
    "concrete",
    "groups",
    "largest",
    "largest_fitting",
    "next_batch",
    "next_probe",
    "skipped",
]


# The first step allocates; on a CPU memory grows for some more steps, until the free blocks fit.
_WARMUP, _ITERATIONS = 2, 8
FITS, OUT_OF_MEMORY = "fits", "out_of_memory"
# Above 64 only multiples of 8 are tried: it saves three probes, and tensor cores want them
# (NVIDIA, Deep Learning Performance: "choose batch size ... to be divisible by 8").
_FINE, _STEP = 64, 8


def check_memory(cells: Sequence[Cell], memory_mib: Mapping[str, int], packing: str) -> None:
    """Refuse a search without a memory limit, which the kernel would end by killing processes.

    :param memory_mib: by node that is there, the limit for each process, 0 for none.
    :param packing: one of ``options.PACKINGS``; but for ``none`` any node may run a cell.
    :raises ValueError: a search on CPU nodes without a limit.
    """
    for cell in cells:
        if cell["batch_size_per_device"] != MAX or cell["device"] != "cpu":
            continue
        names = cell["node_names"] if packing == "none" else memory_mib
        without = [name for name in names if memory_mib.get(name) == 0]
        if without:
            raise ValueError(
                f"-e batch_size_per_device={MAX}: on nodes without a GPU it needs a limit, as"
                " -e cell_memory_mib=4096, for each process; without one the kernel would kill"
                f" processes when the machine's memory is exhausted ({folded(without)} without one)"
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
    changed = {**cell, "batch_size_per_device": batch, "searched": True, "variant": variant}
    return cast(Cell, {**changed, **log_place(changed)})


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
    batch = next_batch(_tried(endings), group[0]["search_from"], LARGEST_BATCH)
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
    batch = largest_fitting(_tried(endings))
    if batch is None:
        raise ValueError("the search for the largest batch ended: a batch of 1 is too large")
    return batch


def _tried(endings: Mapping[int, str]) -> Dict[int, str]:
    return {
        batch: OUT_OF_MEMORY if ending == "out_of_memory" else FITS
        for batch, ending in endings.items()
    }


def _spoiled(endings: Mapping[int, str]) -> str:
    for batch, ending in endings.items():
        if ending not in ("ok", "out_of_memory"):
            return f"{ending} at {batch}"
    return ""


def skipped(cell: Mapping[str, Any], ooms: Iterable[Mapping[str, Any]]) -> Optional[str]:
    """Return why a cell need not run: ``out of memory at N``, or None.

    :param ooms: the cells that ran out of memory. One with a smaller batch size and all else the
        same rules this cell out; a larger or the same batch size does not.
    """
    smaller = [
        oom["batch_size_per_device"]
        for oom in ooms
        if _without_batch(oom) == _without_batch(cell)
        and oom["batch_size_per_device"] < cell["batch_size_per_device"]
    ]
    return f"out of memory at {min(smaller)}" if smaller else None


def _without_batch(cell: Mapping[str, Any]) -> Dict[str, Any]:
    """Return all that the memory of one device depends on, but for the batch size."""
    of_batch = ("batch_size_per_device", "global_batch_size", "scaling")
    return {**task_values(cell), **dict.fromkeys(of_batch)}


def next_batch(tried: Mapping[int, str], start: int, limit: int) -> Optional[int]:
    """Return the batch size to try next, None once the largest that runs is known.

    Doubles from ``start`` until the memory is exhausted or ``limit`` is reached, then bisects
    between the largest that fits and the smallest that does not; if ``start`` does not fit,
    below it. That takes at most 2 + 2 log2(limit) probes. The answer (:func:`largest_fitting`) is
    exact up to 64, above it the largest multiple of 8 (or start doubled, or limit) that fits.

    A larger batch is assumed to need more memory. Where results contradict that, a size above one
    that ran out of memory does not count as fitting, since it may fail the next time.

    :param tried: ``fits`` or ``out_of_memory`` by batch size per device.
    :param start: the batch size to begin with.
    :param limit: the largest batch size to try.
    :raises ValueError: not 1 <= start <= limit, or another word in ``tried``.
    """
    if not 1 <= start <= limit:
        raise ValueError(f"start {start}, limit {limit}: 1 <= start <= limit is needed")
    low, high = largest_fitting(tried) or 0, _smallest_oom(tried)
    if high is None:
        if low >= limit:
            return None
        return min(2 * low, limit) if low else start
    middle = (_position(low) + 1 + _position(high - 1)) // 2
    return _at(middle) if middle > _position(low) else None


def largest_fitting(tried: Mapping[int, str]) -> Optional[int]:
    """Return the largest batch size that fits below the smallest that does not; None for none.

    :param tried: as of :func:`next_batch`.
    :raises ValueError: another word in ``tried``.
    """
    high = _smallest_oom(tried)
    fitting = [
        batch for batch, how in tried.items() if how == FITS and (high is None or batch < high)
    ]
    return max(fitting, default=None)


def _smallest_oom(tried: Mapping[int, str]) -> Optional[int]:
    for batch, how in tried.items():
        if how not in (FITS, OUT_OF_MEMORY):
            raise ValueError(f"batch size {batch}: {how!r} is neither {FITS} nor {OUT_OF_MEMORY}")
    return min((batch for batch, how in tried.items() if how == OUT_OF_MEMORY), default=None)


def _position(batch: int) -> int:
    """Return how many of the batch sizes that may be tried are not above this one."""
    return batch if batch <= _FINE else _FINE + (batch - _FINE) // _STEP


def _at(position: int) -> int:
    return position if position <= _FINE else _FINE + (position - _FINE) * _STEP
