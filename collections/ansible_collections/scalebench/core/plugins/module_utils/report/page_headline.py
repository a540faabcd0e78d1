"""The head of report.html: what was measured, on what, and how far it can be trusted."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple

from ..layout.plain_text import plain
from ..layout.rows import cell_groups, labels
from ..stats.statistics import median
from ..topology import sort_topologies
from .method import machine_rows
from .page_trust import spreads, trust
from .remarks import remarks

__all__ = ["headline"]

Cell = Mapping[str, Any]
_MOST_NAMED = 6


def headline(results: Mapping[str, Any]) -> Dict[str, Any]:
    """Return ``what`` and ``where`` (sentences), ``figures``, ``trust`` and ``remarks``.

    ``figures``: ``label``, ``value`` and ``note`` of the few numbers to see first. ``trust``:
    ``level`` (good, care, poor, none), ``verdict`` and ``reasons``, from counts alone.
    """
    cells: List[Cell] = results["cells"]
    return {
        "what": _what(cells),
        "where": _where(results),
        "figures": _figures(results),
        "trust": trust(results),
        "remarks": [plain(remark, 2000) for remark in remarks(results)],
    }


def _what(cells: Sequence[Cell]) -> List[str]:
    """Say what each benchmark trained."""
    said = []
    for benchmark in dict.fromkeys(str(cell["benchmark"]) for cell in cells):
        own = [cell for cell in cells if str(cell["benchmark"]) == benchmark]
        topologies = _named(sort_topologies({cell["topology"]: None for cell in own}))
        batches = sorted({cell["batch_size_per_device"] for cell in own})
        data = _named(str(cell["data"]) for cell in own if cell["data"])
        said.append(
            f"{plain(benchmark, 80)}: training of {_named(str(cell['model']) for cell in own)} in"
            f" {_named(str(cell['precision']) for cell in own)}, batch size"
            f" {_named(str(batch) for batch in batches)} per device,"
            f"{f' {data} data,' if data else ''} on {topologies}."
        )
    return said


def _named(names: Iterable[str]) -> str:
    """Return different names with commas, the first few of many."""
    known = list(dict.fromkeys(plain(name, 60) for name in names))
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return ", ".join(known[:_MOST_NAMED]) + more


def _where(results: Mapping[str, Any]) -> str:
    rows = machine_rows(results)
    if not rows:
        return "Nothing is recorded of the machines."
    nodes = len(results["provenance"]["nodes"])
    kinds = [f"{row['processor']}, {row['cores']} cores, {row['GPUs']}" for row in rows]
    gpus = _named(kind.replace(", none", ", no GPU") for kind in kinds)
    machines = "1 machine" if len(rows) == 1 else f"{len(rows)} machines"
    return f"{nodes} {'node' if nodes == 1 else 'nodes'} on {machines}: {gpus}."


def _figures(results: Mapping[str, Any]) -> List[Dict[str, str]]:
    """Return the fastest cell, the largest one's scaling, the repeats and their spread."""
    counts = results["counts"]
    repeats = f"{counts['ok']} of {counts['planned']}"
    cells = f"in {counts['cells']} cell{'' if counts['cells'] == 1 else 's'}"
    shown = [_figure("repeats with a speed", repeats, cells)]
    named = _names(results)
    sound = [cell for cell, _ in named if cell["median_speed"] and not cell["invalid"]]
    fast = max(sound, key=_speed, default=None)
    if fast:
        unit = plain(fast["unit"] or "samples/s", 20)
        value = f"{fast['median_speed']:,.2f}"
        shown.insert(0, _figure(f"highest throughput, {unit}", value, _name(named, fast)))
    scaled = [c for c, _ in named if c["speedup"] and c["devices"] > 1]
    far = max(scaled, key=lambda c: (c["devices"], c["speedup"]), default=None)
    if far:
        value = f"{far['speedup']:.2f} of {far['devices']}"
        shown.insert(1, _figure("speed-up, most devices", value, _name(named, far)))
        value = f"{far['efficiency'] * 100:.2f} %"
        shown.insert(2, _figure("scaling efficiency", value, _name(named, far)))
    return shown + _spread_figure(results)


def _spread_figure(results: Mapping[str, Any]) -> List[Dict[str, str]]:
    known = spreads(results["cells"])
    if not known:
        return []
    typical = f"median of {len(known)} cells; at most {max(known) * 100:.2f} %"
    return [_figure("spread of repeats (cv)", f"{median(known) * 100:.2f} %", typical)]


def _figure(label: str, value: str, note: str) -> Dict[str, str]:
    return {"label": label, "value": value, "note": note}


def _speed(cell: Cell) -> float:
    speed: float = cell["median_speed"]
    return speed


def _names(results: Mapping[str, Any]) -> List[Tuple[Cell, str]]:
    groups = cell_groups(results)
    return [
        (cell, f"{cell['topology']}, {plain(label, 60)}")
        for label, cells in zip(labels(groups), groups)
        for cell in cells
    ]


def _name(named: Sequence[Tuple[Cell, str]], wanted: Cell) -> str:
    return next(name for cell, name in named if cell is wanted)
