"""Published results: the schema of their documents, and rows made from them.

A row is one figure with its conditions, source, method and errata. ``common`` holds for every
series, a series overrides it, a result overrides both. The documents are described in
published/README.md.
"""

from __future__ import annotations

import math
from operator import sub, truediv
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, NoReturn, Sequence

from ..records.factors import (
    FACTORS,
    FORMER,
    LOSS_SCALING,
    own_values,
    parse_count,
    parse_flag,
    parse_text,
)
from ..stats.rounding import ROUNDINGS
from ..topology import parse_topology, sort_topologies

__all__ = ["CONDITIONS", "MEASURES", "check_document", "published_rows"]

Row = Dict[str, Any]
_TYPES: Dict[Any, type] = {parse_text: str, parse_flag: bool, parse_count: int}
# What makes a figure comparable: name, then its type or the values that it may have. ``mode`` is
# not among them: what others published is training at a steady pace.
CONDITIONS: Dict[str, Any] = {
    **dict.fromkeys(("benchmark", "framework", "container", "model", "gpu"), str),
    # What the throughput counts, in the plural.
    "unit": str,
    "precision_printed": str,
    **{
        factor.name: factor.values or _TYPES.get(factor.parse, int)
        for factor in (*FACTORS, *FORMER)
        if factor.name != "mode"
    },
    # Of fp16 and amp, where the source or the log states it.
    "loss_scaling": LOSS_SCALING,
    "repeats": int,
    # That the run of a time to train or an accuracy trained.
    "epochs": int,
    "own_factors": dict,
}
_OWN = ("own_factors", *(factor.name for factor in FORMER))
# throughput, average and end_to_end_throughput (all images over all seconds, with evaluation and
# start-up) in units/s over all devices; memory_mib of one device; the time to train is that to
# target_accuracy, in percent as accuracy_top1, or to target_loss; mfu and hfu (model and hardware
# FLOPs utilization, the latter with what is computed again) in percent of the peak,
# hardware_tflops in TFLOP/s of one device: all three of mfu_by's dimensions and the throughput.
FIGURES = (
    *("throughput", "average", "speedup", "memory_mib", "time_to_train_seconds"),
    *("target_accuracy", "accuracy_top1", "end_to_end_throughput", "mfu", "hfu"),
    *("hardware_tflops", "target_loss"),
)
# Where a figure is printed: a file of the source's commit (by default the source's path), the line,
# and the cell of each figure in a table's line, counted from 1; per_device: the printed throughput
# is that of one device; scale: the throughput over the printed one, as 1000 where GB are printed;
# runs_line: where the runs begin, one a line. mfu_by: formula (of models.flops), dimensions that
# it needs, peak_tflops and again (what is computed once more), the entries of series and result
# beside those of common. times: of a training that was logged, by repeat the seconds from run_start
# to run_stop and their two lines in result_REPEAT.txt below the path.
PLACE: Dict[str, Any] = {
    **{"path": str, "line": int, "columns": dict, "per_device": bool, "runs_line": int},
    "scale": int,
    **{"mfu_by": dict, "times": dict},
}


class Measure(NamedTuple):
    """A figure beside the throughput: its name in a report, and how ours and theirs compare."""

    title: str
    form: str
    compare: Callable[[float, float], float]


MEASURES = {
    "time_to_train_seconds": Measure("time to train s", "ratio {:.4g}", truediv),
    "end_to_end_throughput": Measure("end to end throughput", "ratio {:.4g}", truediv),
    "accuracy_top1": Measure("best top-1 %", "{:+.2f} points", sub),
}
SOURCE: Dict[str, Any] = {
    # Documents of version 0.1 say seed for reference.
    "kind": ("reference", "extra", "official", "seed"),
    "repository": str,
    "commit": str,
    "path": str,
    "date": str,
}
METHOD: Dict[str, Any] = {
    "strategy": str,
    # olympic: the mean without the fastest and the slowest run, as MLPerf scores.
    "statistic": ("median", "mean", "single", "olympic"),
    "rounding": tuple(ROUNDINGS),
    "text": str,
}
_ERRATUM = {
    "kind": ("misprint", "mislabel", "contradiction", "doubt"),
    "where": list,
    "what": str,
    "printed": str,
    "correct": str,
}
_PARTS = dict.fromkeys(("schema", "source", "method", "common", "series", "errata"), object)
_SERIES = {**CONDITIONS, **PLACE, "id": str, "note": str, "results": dict}
_RESULT = {**CONDITIONS, **PLACE, **dict.fromkeys(FIGURES, object), "runs": object, "reason": str}


def _fail(where: str, problem: str) -> NoReturn:
    raise ValueError(f"published results, {where}: {problem}")


def _check(where: str, value: Any, kind: Any) -> None:
    """Check a value against a type or a tuple of choices; None is an unknown and always right."""
    if value is None:
        return
    if isinstance(kind, tuple):
        if value not in kind:
            _fail(where, f"{value!r:.80} is not one of {', '.join(kind)}")
    elif not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        _fail(
            where, f"{value!r:.80} is not of type {kind.__name__}; quote a text that looks like one"
        )
    elif kind is int and value < 1:
        _fail(where, f"{value!r:.80}: at least 1 is needed")


def _mapping(
    where: str, value: Any, known: Mapping[str, Any], needed: Sequence[str] = ()
) -> Mapping[str, Any]:
    """Check that ``value`` is a mapping with the needed keys, only known ones, of right types."""
    if not isinstance(value, Mapping):
        _fail(where, f"a mapping is needed, not {value!r:.80}")
    for key in needed:
        if value.get(key) is None:
            _fail(where, f"{key} is missing")
    for key, item in value.items():
        if key not in known:
            _fail(where, f"unknown key {key!r:.80}; known: {', '.join(known)}")
        _check(f"{where}.{key}", item, known[key])
    for name, item in (value.get("own_factors") or {}).items():
        if not isinstance(item, (str, int, float, bool, type(None))):
            _fail(f"{where}.own_factors.{name}", f"{item!r:.80} is not a single value")
    return value


def _list(where: str, value: Any) -> Sequence[Any]:
    if not isinstance([] if value is None else value, list):
        _fail(where, f"a list is needed, not {value!r:.80}")
    return value or []


def _figure(where: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (number and math.isfinite(value) and value > 0):
        _fail(where, f"{value!r:.80} is not a number above 0")


def _check_result(where: str, result: Any, series: Any, common: Any) -> None:
    _mapping(where, result, _RESULT)
    for key in FIGURES:
        _figure(f"{where}.{key}", result.get(key))
    timed = result.get("time_to_train_seconds") is not None
    if result.get("throughput") is None and not timed and not result.get("reason"):
        _fail(where, "no throughput and no reason for that")
    runs = result.get("runs") or {}
    if not isinstance(runs, Mapping):
        _fail(f"{where}.runs", f"a mapping from repeat to units/s is needed, not {runs!r:.80}")
    for repeat, speed in runs.items():
        _figure(f"{where}.runs.{repeat}", speed)
    levels = (result, series, common)
    repeats = next((level["repeats"] for level in levels if "repeats" in level), None)
    if runs and repeats != len(runs):
        _fail(where, f"{len(runs)} runs but repeats {repeats}")
    for key in ("benchmark", "framework", "model"):
        if not any(level.get(key) for level in levels):
            _fail(where, f"{key} is missing, here, in the series and in common")


def _check_series(name: str, series: Any, common: Mapping[str, Any]) -> List[str]:
    """Check one series; return the places that an erratum can name in it."""
    where = f"{name}: series {series.get('id') if isinstance(series, Mapping) else series!r:.80}"
    _mapping(where, series, _SERIES, ("id", "results"))
    for topology, result in series["results"].items():
        try:
            parse_topology(topology)
        except ValueError as error:
            raise ValueError(f"published results, {where}: {error}") from error
        _check_result(f"{where}, {topology}", result, series, common)
    return [series["id"], *(f"{series['id']}/{topology}" for topology in series["results"])]


def check_document(document: Any, name: str = "document") -> None:
    """Check a whole document; ``name`` is what the messages call it.

    :raises ValueError: names the place in the document, what is wrong there and what is allowed.
    """
    _mapping(name, document, _PARTS, ("schema", "source", "method", "series"))
    if document["schema"] != 1:
        _fail(f"{name}.schema", f"{document['schema']!r:.80}: this reads schema 1")
    _mapping(f"{name}.source", document["source"], SOURCE, ("kind", "repository", "path"))
    _mapping(f"{name}.method", document["method"], METHOD, ("statistic", "text"))
    common = _mapping(f"{name}.common", document.get("common") or {}, {**CONDITIONS, **PLACE})
    places = ["document"]
    for series in _list(f"{name}.series", document["series"]):
        for place in _check_series(name, series, common):
            if place in places:
                _fail(f"{name}.series", f"{place!r:.80} twice: give each series its own id")
            places.append(place)
    for index, erratum in enumerate(_list(f"{name}.errata", document.get("errata"))):
        _mapping(f"{name}.errata[{index}]", erratum, _ERRATUM, ("kind", "where", "what"))
        for place in erratum["where"]:
            if place not in places:
                _fail(f"{name}.errata[{index}].where", f"no series or result {place!r:.80}")


def _row(name: str, series: Mapping[str, Any], topology: str, common: Mapping[str, Any]) -> Row:
    result = series["results"][topology]
    levels = (result, series, common)
    nodes, devices_per_node = parse_topology(topology)
    stated = {key: at[key] for at in reversed(levels) for key in CONDITIONS if key in at}
    # Documents of version 0.1 were all of one kind of model, and do not say.
    stated.setdefault("unit", "images")
    own = own_values({**stated, "own_factors": _merged("own_factors", levels)})
    return {
        "id": f"{name}/{series['id']}/{topology}",
        "source": name,
        "series": series["id"],
        **{key: stated.get(key) for key in CONDITIONS if key not in _OWN},
        **({"own_factors": own} if own else {}),
        "topology": topology,
        "nodes": nodes,
        "devices_per_node": devices_per_node,
        "world_size": nodes * devices_per_node,
        **{key: result.get(key) for key in FIGURES},
        "runs": {str(key): speed for key, speed in (result.get("runs") or {}).items()},
        **{key: at[key] for at in reversed(levels) for key in PLACE if key in at},
        "mfu_by": _merged("mfu_by", levels),
        "reason": result.get("reason") or "",
        "note": series.get("note") or "",
    }


def _merged(name: str, levels: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    """Return a mapping of all levels; of the same key the first level's counts."""
    return {key: value for at in reversed(levels) for key, value in (at.get(name) or {}).items()}


def _errata_of(row: Row, errata: Sequence[Mapping[str, Any]]) -> List[Row]:
    places = {"document", row["series"], f"{row['series']}/{row['topology']}"}
    return [
        {key: item for key, item in erratum.items() if key != "where"}
        for erratum in errata
        if places.intersection(erratum["where"])
    ]


def published_rows(document: Any, name: str = "document") -> List[Row]:
    """Return one row per published figure of a document, series and topologies in order.

    ``name``: what the rows are called after, the file's name without its ending. ``throughput`` is
    in units/s over all devices; a condition that the source does not state is None. ``errata``
    are those of the row itself, of its series, and of the document.

    :raises ValueError: names the place in the document, what is wrong there and what is allowed.
    """
    check_document(document, name)
    source, method = document["source"], document["method"]
    described = {
        **{key: source.get(key) for key in SOURCE},
        **{key: method.get(key) for key in METHOD if key != "text"},
        "method": method["text"],
    }
    if described["kind"] == "seed":
        described["kind"] = "reference"
    common, errata = document.get("common") or {}, document.get("errata") or []
    rows = [
        _row(name, series, topology, common)
        for series in document["series"]
        for topology in sort_topologies(series["results"])
    ]
    return [{**described, **row, "errata": _errata_of(row, errata)} for row in rows]
