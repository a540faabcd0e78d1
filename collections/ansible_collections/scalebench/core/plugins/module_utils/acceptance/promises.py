"""The file of an acceptance: the lines that were promised, and whether a campaign is its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ..comparison.gate_rules import METRICS
from ..comparison.limits import (
    Limit,
    checked_day,
    checked_value,
    checked_where,
    selector_text,
    value_text,
)
from ..layout.plain_text import plain
from ..planning.options import OPTIONS, duration_seconds, misspelt, parse_options
from ..planning.recipes import ALL
from ..records.cells import cell_key
from ..records.endings import says_nothing
from ..records.factors import Factor, missing_value
from ..records.results import MeasuredCell

__all__ = ["CELL_LINES", "LINES", "STACK", "check_acceptance", "gaps", "line_text", "unlike"]

# What can be promised of a cell: rules of gates with a value above 0, and the drift.
CELL_LINES: Mapping[str, Limit] = {
    **{
        name: replace(METRICS[name].limit, above=True)
        for name in ("min_throughput", "min_busbw", "min_speedup", "min_efficiency")
    },
    "max_drift": Limit(
        "the largest loss of throughput from the first repeat to the last, 0.01 for 1 %",
        *(1, True, True),
    ),
}
# Names of versions of the stack, and where a node's fingerprint has them.
STACK: Mapping[str, str] = {
    "driver": "version of the GPU driver",
    "gpu": "name of the GPUs",
    "gpus": "number of GPUs of a node",
    "cuda_driver": "CUDA version of the driver",
    "cuda_toolkit": "CUDA version of the toolkit",
    "nccl": "version of NCCL",
    "ofed": "version of OFED",
    "os": "name and version of the operating system",
}
_KEYS = ("about", "campaign", "lines")
# What an acceptance may not set, nor its campaign have: the repeats would end by what they measure.
_NOT_HERE = ("half_width", "max_repeats", "bisect")
# The lists of which every value must have a cell; other factors are not those of every recipe.
_IN_CELLS = (
    *("benchmark", "topology", "precision", "batch_size_per_device"),
    *("scaling", "global_batch_size"),
)


def check_acceptance(content: Any, own: Optional[Sequence[Factor]] = None) -> Dict[str, Any]:
    """Return the checked content of a file: ``about``, ``campaign`` and ``lines``.

    :param content: ``about``, a sentence; ``campaign``, options of bench.yml; ``lines``, a list.
    :param own: the factors that benchmarks declare; None where they are not known, as long after
        the campaign. Only where they are known another option is refused.
    :returns: ``lines``, each with ``metric``, ``value`` and ``where`` (globs by name; empty for
        lines that are not about cells); that no repeat may fail is always one of them.
    :raises ValueError: what is wrong, with the number of the line.
    """
    if not isinstance(content, Mapping) or set(content) != set(_KEYS):
        raise ValueError(f"an acceptance is a mapping with the keys {', '.join(_KEYS)}")
    if not isinstance(content["about"], str) or not content["about"].strip():
        raise ValueError("about: a sentence is needed that says what is accepted")
    campaign = _campaign(content["campaign"], own)
    if not isinstance(content["lines"], list) or not content["lines"]:
        raise ValueError("lines: a list with at least one line is needed")
    lines: List[Dict[str, Any]] = []
    for number, line in enumerate(content["lines"], 1):
        try:
            lines.append(_line(line))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    if not any(line["metric"] == "no_faults" for line in lines):
        lines.append({"metric": "no_faults", "value": "", "where": {}})
    return {"about": plain(content["about"]), "campaign": campaign, "lines": lines}


def _campaign(options: Any, own: Optional[Sequence[Factor]]) -> Dict[str, Any]:
    if not isinstance(options, Mapping):
        raise ValueError("campaign: a mapping from options of bench.yml to their values is needed")
    wrong = [name for name in options if name in _NOT_HERE or not isinstance(name, str)]
    if wrong:
        raise ValueError(f"campaign: {wrong[0]!s:.80} cannot be set here; repeats or duration can")
    known = misspelt(options, OPTIONS)
    if known:
        raise ValueError(f"campaign: {known[0]}")
    unknown = {*options} - {*OPTIONS, *(factor.name for factor in own or ())}
    if own is not None and unknown:
        raise ValueError(
            f"campaign: {min(unknown):.80} is no option of the matrix, and no benchmark declares it"
        )
    return {**options, **parse_options(options, "campaign:", own or ())}


def _line(line: Any) -> Dict[str, Any]:
    if not isinstance(line, Mapping):
        raise ValueError(f"{line!r:.80} is not a mapping from what is promised to its value")
    metrics = [str(key) for key in line if key not in ("where", "day_sd")]
    if len(metrics) != 1 or metrics[0] not in LINES:
        raise ValueError(
            f"one promise a line, not {', '.join(metrics) or 'none':.80}; the choices are"
            f" {', '.join(LINES)}"
        )
    (metric,) = metrics
    if "where" in line and metric not in CELL_LINES:
        raise ValueError(f"{metric}: it is not about cells, where selects nothing")
    if "day_sd" in line and metric != "min_throughput":
        raise ValueError(f"day_sd: only min_throughput takes it, not {metric}")
    return {"where": {}, **LINES[metric](metric, line)}


def _of_cells(metric: str, line: Mapping[str, Any]) -> Dict[str, Any]:
    value = checked_value(metric, CELL_LINES[metric], line[metric])
    day = {"day_sd": checked_day(line["day_sd"])} if "day_sd" in line else {}
    return {"metric": metric, "value": value, "where": checked_where(line.get("where", {})), **day}


def _faults(metric: str, line: Mapping[str, Any]) -> Dict[str, Any]:
    try:
        duration_seconds(line[metric])
    except ValueError as error:
        raise ValueError(f"{metric}: {line[metric]!r:.80} {error}") from None
    return {"metric": metric, "value": str(line[metric])}


def _preflight(metric: str, line: Mapping[str, Any]) -> Dict[str, Any]:
    if line[metric] not in ("pass", "warn"):
        raise ValueError(
            f"{metric}: {line[metric]!r:.80} is not pass, or warn, which allows warnings"
        )
    return {"metric": metric, "value": line[metric]}


def _stack(metric: str, line: Mapping[str, Any]) -> Dict[str, Any]:
    versions = line[metric]
    if not isinstance(versions, Mapping) or not versions:
        raise ValueError(f"{metric}: a mapping from names to patterns is needed, as nccl: '2.19*'")
    for name, glob in versions.items():
        if name not in STACK:
            raise ValueError(f"{metric}: no {name!r:.80}; the choices are {', '.join(STACK)}")
        if not isinstance(glob, (str, int)) or isinstance(glob, bool) or glob == "":
            raise ValueError(f"{metric}: {name}: {glob!r:.80} is not a text: put it in quotes")
    return {"metric": metric, "value": {name: str(glob) for name, glob in versions.items()}}


LINES: Mapping[str, Callable[[str, Mapping[str, Any]], Dict[str, Any]]] = {
    **dict.fromkeys(CELL_LINES, _of_cells),
    "no_faults": _faults,
    "preflight": _preflight,
    "stack": _stack,
}


def line_text(line: Mapping[str, Any]) -> str:
    """Return a line of an acceptance in words."""
    where = selector_text(line)
    value = line["value"]
    if line["metric"] in CELL_LINES and isinstance(value, Mapping):
        value = value_text(value)
    elif isinstance(value, Mapping):
        value = ", ".join(f"{name} {glob}" for name, glob in value.items())
    shown = f"{line['metric']}: {value}" if value != "" else line["metric"]
    shown += f", day_sd {line['day_sd']}" if "day_sd" in line else ""
    return plain(f"{shown} of {where}" if where else shown)


def unlike(
    promised: Mapping[str, Any], options: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]
) -> List[str]:
    """Return a sentence for each option that a campaign has otherwise than stated.

    :param promised: ``campaign`` of a checked acceptance.
    :param options: of plan.json.
    :param cells: planned, or measured.
    """
    said = []
    for name, value in promised.items():
        if name not in options:
            said.append(f"{name}: {_text(value)} is stated, the plan has none")
        elif not _kept(name, value, options[name]):
            said.append(f"{name}: {_text(value)} is stated, the plan has {_text(options[name])}")
    said += [f"{name}: the plan has it" for name in _NOT_HERE if options.get(name)]
    for name in _IN_CELLS:
        there = {str(cell.get(name) or missing_value(name)) for cell in cells}
        # 4n*g, a searched batch size and all benchmarks stand for values that are not known here.
        wanted = [one for one in _texts(promised.get(name, ())) if "*" not in one]
        wanted = [one for one in wanted if one not in ("max", *ALL)]
        said += [f"{name}: no cell has {one}" for one in wanted if one not in there]
    least = promised.get("repeats", 0)
    for cell in cells:
        planned = cell.get("repeats_planned", cell.get("repeats"))
        if isinstance(planned, int) and planned < least:
            said.append(f"repeats: {least} are stated, {cell_key(cell).short} has {planned}")
    return said


def _kept(name: str, stated: Any, planned: Any) -> bool:
    if name == "duration":
        return duration_seconds(planned) >= duration_seconds(stated)
    return _texts(stated) == _texts(planned)


def _texts(value: Any) -> List[str]:
    values = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return [str(one).strip() for one in values]


def _text(value: Any) -> str:
    return ",".join(_texts(value))


def gaps(cell: MeasuredCell) -> str:
    """Return which planned repeats of a cell, or attempts at them, tell nothing; empty if none.

    A failed repeat tells something: it is a fault.
    """
    repeats = cell["repeats"]
    # Without a fixed number (-e duration) the highest number is the least that ran.
    numbers = {*range(1, max((one["repeat"] for one in repeats), default=0) + 1)}
    absent = {*cell["not_run"], *(numbers - {one["repeat"] for one in repeats})}
    said = [f"repeat {number} did not run" for number in sorted(absent)]
    said += [
        f"repeat {one['repeat']} is {one['ending']}"
        for one in repeats
        if says_nothing(one["ending"])
    ]
    said += [
        f"of repeat {one['repeat']} attempts are missing"
        for one in repeats
        if len(one["earlier"]) < one["attempt"] - 1
    ]
    return ", ".join(said)
