"""Read a results.json of any schema as results of the current one."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, cast

from ..records.endings import count_key, groups
from ..records.plans import NEEDED, check_cell
from ..records.results import Interval, MeasuredCell, Repeat, Results, Spread
from ..records.shape import check_shape
from .results import SCHEMA
from .scaling import BASELINE

__all__ = ["read"]

_NEEDED = ("campaign", "facts", "units", "provenance", "counts", "cells", "unmatched")
_CELL_KEYS = (
    *("unit", "state", "repeats_planned", "repeats", "spread", "interval", "failures", "not_run"),
    *("average_speed", "median_speed", "speedup", "efficiency", "devices", "oversubscribed"),
)
_REPEAT_KEYS = ("repeat", "log", "ending", "reason", "throughput")
_SHAPE = {
    Results: _NEEDED,
    MeasuredCell: (*NEEDED, *_CELL_KEYS),
    Repeat: _REPEAT_KEYS,
    Spread: ("n", "cv"),
    Interval: ("low", "high"),
}


def read(data: Any) -> Results:
    """Return results of any schema in the current one; ``data`` is not changed.

    What an older version did not record is None or empty: it had no retries, packing, telemetry
    or invariants. Figures are never computed again; ``report.yml`` does that from the logs.

    :param data: what a results.json holds.
    :raises ValueError: it is not a results.json, it is damaged, or a newer version wrote it.
    """
    schema = data.get("schema") if isinstance(data, Mapping) else None
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise ValueError("it is not a results.json of Scalebench: it has no schema")
    if schema > SCHEMA:
        raise ValueError(
            f"it has schema {schema}, and this Scalebench reads schemas up to {SCHEMA}: use the"
            " version that wrote it, or a newer one"
        )
    check_shape(data, Results, "results", _SHAPE)
    cells = [_cell(cell, index) for index, cell in enumerate(data["cells"])]
    results = {
        **{"searches": [], "packing": None, "interference": None},
        "failures": _failures(cells),
        **data,
        "schema": SCHEMA,
        "provenance": _provenance(data["provenance"]),
        "counts": {**{count_key(group): 0 for group in groups()}, **data["counts"]},
        "cells": cells,
    }
    return cast(Results, results)


def _cell(cell: Any, index: int) -> MeasuredCell:
    where = f"cells[{index}]"
    try:
        check_cell(cell)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    _check_speed(cell, "median_speed", where)
    completed = {
        **{key: [] for key in (*groups(), "unfinished", "invalid", "warnings")},
        "adaptive": None,
        **cell,
        "repeats": [
            _repeat(repeat, cell, f"{where}.repeats[{number}]")
            for number, repeat in enumerate(cell["repeats"])
        ],
    }
    return cast(MeasuredCell, completed)


def _repeat(repeat: Any, cell: Mapping[str, Any], where: str) -> Repeat:
    _check_speed(repeat, "throughput", where)
    completed = {
        **{"seconds": None, "oversubscribed": None, "node_names": cell.get("node_names")},
        **{"attempt": 1, "earlier": [], "disturbances": [], "packed_with": []},
        **{"shares_machine": False, "telemetry": None, "warnings": []},
        **repeat,
    }
    return cast(Repeat, completed)


def _check_speed(value: Mapping[str, Any], key: str, where: str) -> None:
    speed = value[key]
    if speed is not None and speed <= 0:
        raise ValueError(f"{where}.{key} is {speed!r}, not a speed above 0")


def _failures(cells: Sequence[MeasuredCell]) -> List[Dict[str, Any]]:
    failed: List[Mapping[str, Any]] = [repeat for cell in cells for repeat in cell["failures"]]
    return [{key: repeat.get(key) for key in ("log", "ending", "reason")} for repeat in failed]


def _provenance(recorded: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        "checks": {"invalid_repeat": {}, "invalid_cell": {}, "warning": {}},
        **{"rules": {}, "readers": [], "trainers": [], "baseline": BASELINE, "created": None},
        **recorded,
        "nodes": recorded.get("nodes") or {},
        # The first versions did not record which parameters were changed: all are shown then.
        "strategies": [
            {"about": "", "changed": strategy.get("parameters") or {}, **strategy}
            for strategy in recorded.get("strategies") or ()
        ],
    }
