"""Logs that no campaign made: a tree of paths as repeats of cells, and their run records."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from ..logs import FILE_ENDINGS
from ..records.cells import IDENTITY_KEYS, cell_key
from ..records.endings import ending_of_log
from ..records.factors import FORMER, factor_names
from .lognames import Log, parse_log_path

__all__ = ["as_record", "expected_of_path", "group_logs", "no_facts_record"]

_OURS = re.compile(
    r"plan\.json|results\.(json|csv)|.+_result\.json|report\.(md|html)|junit\.xml|scalebench\.prom"
    r"|(throughput|speedup|efficiency|step_time|step_parts|busbw)\.(svg|png)",
    re.ASCII,
)
_FACTORS = (*factor_names(), *(factor.name for factor in FORMER))
_CELL = (*IDENTITY_KEYS, *_FACTORS, "nodes", "devices_per_node")
_ARCHITECTURE = re.compile(r"(resnext|resnet|vgg|densenet|(?<![a-z])rn?)[-_]?(\d+)", re.ASCII)


def _slot(log: Log) -> Tuple[Any, ...]:
    """Return the key of a repeat, which sorts in the order of a report."""
    key, batch = cell_key(log), log["global_batch_size"] or log["batch_size_per_device"]
    group = (key.benchmark, key.precision != "fp32", key.precision, batch, key.variant, key.model)
    return (*group, log["nodes"], log["devices_per_node"], log["repeat"])


def _stem(path: str) -> str:
    """Return a log's path without its ending, which the files beside it share."""
    ending = next((end for end in FILE_ENDINGS if path.endswith(end)), "")
    return path[: len(path) - len(ending)]


def _numbered(log: Log) -> bool:
    """Whether the name states its repeat, so that it goes before a name that does not."""
    return _stem(log["path"]).endswith(f"_{log['repeat']}")


def _is_companion(path: str, stems: Any) -> bool:
    # The name of a model may have dots too.
    begins = (path[: dot.start()] for dot in re.finditer(r"\.(?=[^/]*$)", path))
    return bool(_OURS.fullmatch(path.rpartition("/")[2])) or any(one in stems for one in begins)


def group_logs(paths: Iterable[str], root: str = "") -> Dict[str, List[Any]]:
    """Return logs (see ``parse_log_path``), companions and unmatched of a tree.

    ``logs`` are ordered by group, topology and repeat. ``companions`` are paths that belong to a
    log or a report by their name (``<log>.run.json``, ``<log>.node2.txt``, ``results.json``).
    ``unmatched`` are all other paths, each with the reason: {path, reason}.
    """
    named: List[Log] = []
    others: List[Dict[str, str]] = []
    for path in sorted(paths):
        try:
            named += parse_log_path(path, root)
        except ValueError as error:
            others.append({"path": path, "reason": str(error)})
    slots: Dict[Tuple[Any, ...], Log] = {}
    unmatched: List[Dict[str, str]] = []
    for log in sorted(named, key=lambda log: (not _numbered(log), log["path"])):
        first = slots.setdefault(_slot(log), log)
        if first is not log:
            reason = f"it is the same repeat as {first['path']}"
            unmatched.append({"path": log["path"], "reason": reason})
    logs = [slots[slot] for slot in sorted(slots)]
    stems = {_stem(log["path"]) for log in logs}
    companions = [item["path"] for item in others if _is_companion(item["path"], stems)]
    unmatched += [item for item in others if not _is_companion(item["path"], stems)]
    unmatched.sort(key=lambda item: item["path"])
    return {"logs": logs, "companions": companions, "unmatched": unmatched}


def _architecture(name: Any) -> Optional[str]:
    """Return resnet50 for r50, rn50, PaddleClas_ResNet50, resnet50_v1.5; None for other names."""
    match = _ARCHITECTURE.search(str(name).lower())
    if match is None:
        return None
    family = "resnet" if match.group(1) in ("r", "rn") else match.group(1)
    return family + match.group(2)


def expected_of_path(log: Mapping[str, Any], own_trainer: bool) -> Dict[str, Any]:
    """Return the identity that a log must not contradict, for ``facts.log_facts``.

    ``log``: what ``lognames.parse_log_path`` returned. The names of precisions are compared only
    for our own trainers (``own_trainer``): others call the same thing fp16, float16 or amp.
    """
    expected = {
        "batch_size_per_device": log["batch_size_per_device"],
        "world_size": log["nodes"] * log["devices_per_node"],
        "nodes": log["nodes"],
    }
    expected["global_batch_size"] = expected["world_size"] * expected["batch_size_per_device"]
    if own_trainer:
        expected["precision"] = log["precision"]
    return expected


def _cell(log: Mapping[str, Any]) -> Dict[str, Any]:
    return {key: log[key] for key in _CELL}


def no_facts_record(log: Mapping[str, Any], reason: str) -> Dict[str, Any]:
    """Return the record of a log that could not be read, with the reason."""
    return {
        "cell": _cell(log),
        "repeat": log["repeat"],
        "log": log["path"],
        "ending": "invalid",
        "reason": reason,
        "facts": None,
    }


def _apart(log: Mapping[str, Any], identity: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each factor that path and log state differently."""
    for name in _FACTORS:
        # A part of the path is a flag: without it nothing is stated.
        if (
            log[name]
            and identity.get(name) is not None
            and _plain(log[name]) != _plain(identity[name])
        ):
            yield f"its path says {name} {log[name]}, the log {identity[name]}"


def _plain(value: Any) -> str:
    return str(value).lower().replace("pure_", "").replace("float", "fp")


def as_record(log: Mapping[str, Any], facts: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the run record of a log with facts.

    A log that gives a throughput is ``ok`` however it ends: some end in a traceback after their
    last observation. Its own ending stays in ``facts``. One without has the ending that explains
    why.
    """
    record = dict(no_facts_record(log, facts["reason"]), facts=dict(facts))
    record["warnings"] = list(_apart(log, facts["identity"]))
    of_log, of_path = _architecture(facts["identity"].get("model")), _architecture(log["model"])
    if of_log and of_path and of_log != of_path:
        return dict(record, reason=f"the log says model {of_log}, its path {of_path}")
    if facts["throughput"] is not None:
        return dict(record, ending="ok", reason="")
    kind, detail = facts["ending"]["kind"], facts["ending"]["detail"]
    ending = ending_of_log(kind)
    if not facts["valid"] or ending is None:
        return record
    return dict(record, ending=ending.name, reason=f"{detail}; {facts['reason']}")
