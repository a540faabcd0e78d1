"""Run records of logs that no campaign made: the identity of the path checked against the log."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Optional

from ..records.cells import IDENTITY_KEYS
from ..records.endings import ending_of_log
from ..records.factors import factor_names

__all__ = ["as_record", "expected_of_path", "no_facts_record"]

_CELL = (*IDENTITY_KEYS, *factor_names(), "nodes", "devices_per_node")
_ARCHITECTURE = re.compile(r"(resnext|resnet|vgg|densenet|(?<![a-z])rn?)[-_]?(\d+)", re.ASCII)


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


def as_record(log: Mapping[str, Any], facts: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the run record of a log with facts.

    A log that gives a throughput is ``ok`` however it ends: some end in a traceback after their
    last observation. Its own ending stays in ``facts``. One without has the ending that explains
    why.
    """
    record = dict(no_facts_record(log, facts["reason"]), facts=dict(facts))
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
