"""From a results.json that any version of Scalebench wrote to the shape that this one writes."""

from __future__ import annotations

from math import isfinite
from typing import Any, Dict, List, Mapping

from .cells import check_cell
from .facts import BASELINE
from .results import SCHEMA

__all__ = ["read"]

_NEEDED = ("campaign", "facts", "units", "provenance", "counts", "cells", "unmatched")
_OF_A_CELL = (
    *("unit", "state", "repeats_planned", "repeats", "spread", "interval", "failures", "not_run"),
    *("average_speed", "median_speed", "speedup", "efficiency", "devices", "oversubscribed"),
)
_OF_A_REPEAT = ("repeat", "log", "ending", "reason", "throughput")
_KINDS = {
    **dict.fromkeys(("facts", "units", "provenance", "counts"), dict),
    **dict.fromkeys(("cells", "repeats", "failures", "not_run", "unmatched"), list),
}


def read(data: Any) -> Dict[str, Any]:
    """Return results of any schema in the current one; ``data`` stays as it is.

    What an older version did not record is None or empty: it had no retries, packing, telemetry
    or invariants. Figures are never computed anew; ``report.yml`` does that from the logs.

    :param data: what a results.json holds.
    :raises ValueError: it is no results.json, it is damaged, or a newer version wrote it.
    """
    schema = data.get("schema") if isinstance(data, Mapping) else None
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise ValueError("it is no results.json of Scalebench: it states no schema")
    if schema > SCHEMA:
        raise ValueError(
            f"it has schema {schema}, and this Scalebench reads schemas up to {SCHEMA}: use the"
            " version that wrote it, or a newer one"
        )
    _check(data, _NEEDED, "it")
    cells = [_cell(cell, index) for index, cell in enumerate(data["cells"])]
    return {
        **{"searches": [], "packing": None, "interference": None},
        "failures": _failures(cells),
        **data,
        "schema": SCHEMA,
        "provenance": _provenance(data["provenance"]),
        "counts": {"unavailable": 0, "skipped": 0, **data["counts"]},
        "cells": cells,
    }


def _cell(cell: Any, index: int) -> Dict[str, Any]:
    where = f"cells[{index}]"
    try:
        check_cell(cell)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    _check(cell, _OF_A_CELL, where)
    _check_speed(cell, "median_speed", where)
    absent = ("unavailable", "skipped", "unfinished", "invalid", "warnings")
    return {
        **{key: [] for key in absent},
        "adaptive": None,
        **cell,
        "repeats": [
            _repeat(repeat, cell, f"{where}.repeats[{number}]")
            for number, repeat in enumerate(cell["repeats"])
        ],
    }


def _repeat(repeat: Any, cell: Mapping[str, Any], where: str) -> Dict[str, Any]:
    _check(repeat, _OF_A_REPEAT, where)
    _check_speed(repeat, "throughput", where)
    return {
        **{"seconds": None, "oversubscribed": None, "node_names": cell.get("node_names")},
        **{"attempt": 1, "earlier": [], "disturbances": [], "packed_with": []},
        **{"shares_machine": False, "telemetry": None, "warnings": []},
        **repeat,
    }


def _check(value: Any, needed: Any, where: str) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} is damaged: a mapping is needed")
    missing = [key for key in needed if key not in value]
    if missing:
        raise ValueError(f"{where} is damaged: no {', '.join(missing)}")
    for key in needed:
        if key in _KINDS and not isinstance(value[key], _KINDS[key]):
            raise ValueError(f"{where} is damaged: {key} is no {_KINDS[key].__name__}")


def _check_speed(value: Mapping[str, Any], key: str, where: str) -> None:
    speed = value[key]
    number = isinstance(speed, (int, float)) and not isinstance(speed, bool)
    if speed is not None and not (number and isfinite(speed) and speed > 0):
        raise ValueError(f"{where} is damaged: {key} is {speed!r}, no speed above 0")


def _failures(cells: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    ended = [one for cell in cells for one in cell["failures"]]
    return [{key: one.get(key) for key in ("log", "ending", "reason")} for one in ended]


def _provenance(found: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        "checks": {"invalid_repeat": {}, "invalid_cell": {}, "warning": {}},
        **{"rules": {}, "readers": [], "baseline": BASELINE, "created": None, "nodes": {}},
        **found,
        # Which parameters were not the strategy's own was not told at first: all are shown then.
        "strategies": [
            {"about": "", "changed": strategy.get("parameters") or {}, **strategy}
            for strategy in found.get("strategies") or ()
        ],
    }
