"""The tables of report.html: a row a cell, then a row a repeat, for each group of cells."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from ..layout.rows import cell_groups, group_title, percent
from ..layout.sections import table
from .notes import notes
from .page_part import Part, filled, part

__all__ = ["group_parts"]

Cell = Mapping[str, Any]
_CELL_COLUMNS = ("topology", "node_num", "gpu_num", "samples/s", "speedup", "efficiency %", "state")
_REPEAT_COLUMNS = ("topology", "repeat", "samples/s", "ending")
# What the part on failures tells, with the last lines of the logs.
_ELSEWHERE = ("Failed", "Unavailable", "Skipped")


def group_parts(results: Mapping[str, Any]) -> List[Part]:
    """Return a part a group: ``cells``, ``spread`` and ``repeats`` as tables, and what happened."""
    return [_group(cells, index) for index, cells in enumerate(cell_groups(results), 1)]


def _group(cells: Sequence[Cell], index: int) -> Part:
    title = group_title(cells)
    rows = [_cell_row(cell) for cell in cells]
    spreads = [_spread_row(cell) for cell in cells if cell["spread"]]
    repeats = [row for cell in cells for row in _repeat_rows(cell)]
    listed = [note for note in notes(cells) if note["title"] not in _ELSEWHERE]
    return {
        **part(f"group-{index}", title, notes=listed),
        "cells": table(f"Speed-up of {title}", rows, filled(rows, _CELL_COLUMNS)),
        "spread": table(f"Spread of {title}", spreads, filled(spreads, ("topology",))),
        "repeats": table(f"Repeats of {title}", repeats, filled(repeats, _REPEAT_COLUMNS)),
    }


def _cell_row(cell: Cell) -> Dict[str, Any]:
    spread = cell["spread"] or {}
    return {
        "topology": cell["topology"],
        "node_num": cell["nodes"],
        "gpu_num": cell["devices"],
        "samples/s": cell["median_speed"],
        "95 % interval": _interval(cell["interval"]),
        "speedup": cell["speedup"],
        "speedup interval": _interval(cell["speedup_interval"]),
        "efficiency %": percent(cell["efficiency"]),
        "cv %": percent(spread.get("cv")),
        "repeats": f"{spread.get('n', 0)} of {cell['repeats_planned']}",
        "state": "oversubscribed" if cell["oversubscribed"] else cell["state"].replace("_", " "),
    }


def _spread_row(cell: Cell) -> Dict[str, Any]:
    return {
        "topology": cell["topology"],
        "repeats with a speed": cell["spread"]["n"],
        "average": cell["average_speed"],
        "median": cell["median_speed"],
        "least": cell["spread"]["minimum"],
        "greatest": cell["spread"]["maximum"],
        "standard deviation": cell["spread"]["sd"],
        "by the clock": cell["wall_clock_throughput"],
    }


def _interval(interval: Optional[Mapping[str, Any]]) -> str:
    if not interval or interval["low"] is None:
        return "-"
    return f"{interval['low']:.2f} to {interval['high']:.2f}"


def _repeat_rows(cell: Cell) -> Iterator[Dict[str, Any]]:
    for repeat in cell["repeats"]:
        within = repeat.get("within_run") or {}
        happened = [*(one["kind"] for one in repeat["disturbances"]), *_retried(repeat)]
        yield {
            "topology": cell["topology"],
            "repeat": repeat["repeat"],
            "samples/s": repeat["throughput"],
            "by the clock": repeat.get("wall_clock_throughput"),
            "within a run, ± %": percent(within.get("relative_error")),
            "seconds": repeat["seconds"],
            "last loss": (repeat.get("loss") or {}).get("last"),
            "ending": repeat["ending"].replace("_", " "),
            "what happened": ", ".join(happened).replace("_", " ") or "-",
        }
    for number in cell["not_run"]:
        row = dict.fromkeys(("samples/s", "by the clock", "within a run, ± %", "seconds"))
        told = {"last loss": None, "ending": "not run", "what happened": "-"}
        yield {"topology": cell["topology"], "repeat": number, **row, **told}


def _retried(repeat: Mapping[str, Any]) -> List[str]:
    return [f"attempt {repeat['attempt']}"] if repeat["earlier"] else []
