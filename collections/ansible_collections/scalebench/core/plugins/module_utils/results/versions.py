"""Read a results.json of any schema as results of the current one."""

from __future__ import annotations

from math import isfinite
from typing import Any, Dict, List, Mapping, Sequence, cast

from ..records.endings import count_key, groups
from ..records.plans import check_kinds
from ..records.results import MeasuredCell, Repeat, Results
from ..records.runs import check_cell
from .results import SCHEMA
from .scaling import BASELINE

__all__ = ["read"]

_NEEDED = ("campaign", "facts", "units", "provenance", "counts", "cells", "unmatched")
_CELL_KEYS = (
    *("unit", "state", "repeats_planned", "repeats", "spread", "interval", "failures", "not_run"),
    *("average_speed", "median_speed", "speedup", "efficiency", "devices", "oversubscribed"),
)
_REPEAT_KEYS = ("repeat", "log", "ending", "reason", "throughput")
_KINDS = {
    **dict.fromkeys(("facts", "units", "provenance", "counts"), dict),
    **dict.fromkeys(("cells", "repeats", "failures", "not_run", "unmatched"), list),
}
# A cell without a speed has neither.
_FIGURES = {
    "spread": {"n": "a whole number", "cv": "a number"},
    "interval": {"low": "a number", "high": "a number"},
}
_PROVENANCE = {
    **{"strategies": "a list of mappings", "nodes": "a mapping of mappings"},
    **{"options": "a mapping", "checks": "a mapping", "rules": "a mapping", "readers": "a list"},
    "trainers": "a list of mappings",
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
    _check(data, _NEEDED, "it")
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
    _check(cell, _CELL_KEYS, where)
    check_kinds(cell, dict.fromkeys(_FIGURES, "a mapping"), where, optional=True)
    for key, kinds in _FIGURES.items():
        if cell[key]:
            _check(cell[key], tuple(kinds), f"{where}.{key}")
            check_kinds(cell[key], kinds, f"{where}.{key}", optional=True)
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
    _check(repeat, _REPEAT_KEYS, where)
    _check_speed(repeat, "throughput", where)
    completed = {
        **{"seconds": None, "oversubscribed": None, "node_names": cell.get("node_names")},
        **{"attempt": 1, "earlier": [], "disturbances": [], "packed_with": []},
        **{"shares_machine": False, "telemetry": None, "warnings": []},
        **repeat,
    }
    return cast(Repeat, completed)


def _check(value: Any, needed: Sequence[str], where: str) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} is damaged: a mapping is needed")
    missing = [key for key in needed if key not in value]
    if missing:
        raise ValueError(f"{where} is damaged: no {', '.join(missing)}")
    for key in needed:
        if key in _KINDS and not isinstance(value[key], _KINDS[key]):
            raise ValueError(f"{where} is damaged: {key} is not a {_KINDS[key].__name__}")


def _check_speed(value: Mapping[str, Any], key: str, where: str) -> None:
    speed = value[key]
    number = isinstance(speed, (int, float)) and not isinstance(speed, bool)
    if speed is not None and not (number and isfinite(speed) and speed > 0):
        raise ValueError(f"{where} is damaged: {key} is {speed!r}, not a speed above 0")


def _failures(cells: Sequence[MeasuredCell]) -> List[Dict[str, Any]]:
    failed: List[Mapping[str, Any]] = [repeat for cell in cells for repeat in cell["failures"]]
    return [{key: repeat.get(key) for key in ("log", "ending", "reason")} for repeat in failed]


def _provenance(recorded: Mapping[str, Any]) -> Dict[str, Any]:
    check_kinds(recorded, _PROVENANCE, "provenance", optional=True)
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
