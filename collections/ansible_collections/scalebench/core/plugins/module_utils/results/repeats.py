"""One repeat of a campaign as results.json has it: from its run record and earlier attempts."""

from __future__ import annotations

from math import isfinite
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from .repeat_telemetry import short_telemetry

__all__ = ["NEVER_RAN", "attempt_of", "repeat_of"]

Record = Mapping[str, Any]
# Endings of a repeat that nothing was started for.
NEVER_RAN = ("skipped", "unavailable")
_OF_THE_LOG = (
    *("unit", "reader", "count", "wall_clock_throughput", "loss", "memory", "accuracy"),
    *("time_to_train", "steady_state", "within_run"),
)


def repeat_of(
    run: Record, earlier: Sequence[Record] = (), machines: Mapping[str, str] = {}
) -> Dict[str, Any]:
    """Return one repeat; throughput is None and a reason stands there where it gave none.

    :param run: its run record, of schema 1 or 2, ``facts`` those of its log.
    :param earlier: the records of earlier attempts, oldest first. Those that were skipped or
        unavailable are none.
    :param machines: of ``repeat_telemetry.machines_of``.
    """
    facts = run.get("facts") or {}
    ending, reason = _ending(run)
    before = [attempt_of(one) for one in earlier if one["ending"] not in NEVER_RAN]
    found: Dict[str, Any] = {
        "repeat": run["repeat"],
        "log": run.get("log"),
        "ending": ending,
        "reason": reason,
        "throughput": facts["throughput"] if ending == "ok" else None,
        "seconds": run.get("seconds"),
        "oversubscribed": run.get("oversubscribed"),
        "node_names": run["cell"].get("node_names"),
        "attempt": len(before) + 1,
        "earlier": before,
        "disturbances": list(run.get("disturbances") or ()),
        "packed_with": list(run.get("packed_with") or ()),
        "shares_machine": bool(run.get("shares_machine")),
        "telemetry": short_telemetry(run.get("nodes") or {}, machines),
        "warnings": _warnings(run.get("nodes") or {}),
    }
    if (facts.get("ending") or {}).get("kind", "complete") != "complete":
        found["log_ending"] = facts["ending"]
    return {**found, **{key: facts[key] for key in _OF_THE_LOG if facts.get(key) is not None}}


def _ending(run: Record) -> Tuple[str, str]:
    facts = run.get("facts") or {}
    ending, reason = run.get("ending") or "invalid", run.get("reason") or ""
    speed = facts.get("throughput")
    if ending == "ok" and not (isinstance(speed, (int, float)) and isfinite(speed) and speed > 0):
        said = facts.get("reason") or f"its log gave no throughput but {speed}"
        return "invalid", reason or said
    return ending, reason


def attempt_of(run: Record) -> Dict[str, Any]:
    """Return what is told of an earlier attempt, by its run record."""
    ending, reason = _ending(run)
    return {
        "ending": ending,
        "reason": reason,
        "throughput": run["facts"]["throughput"] if ending == "ok" else None,
        "disturbances": list(run.get("disturbances") or ()),
    }


def _warnings(nodes: Mapping[str, Mapping[str, Any]]) -> List[str]:
    """Return what was odd on a node and did not change the ending."""
    said = []
    for name, node in nodes.items():
        if node.get("strays"):
            said.append(f"{name}: {node['strays']} processes of an earlier run were ended before")
        if node.get("ended") and node.get("ending") == "ok":
            said.append(f"{name}: {node['ended']} processes outlived the launcher and were ended")
        unseen = (node.get("telemetry") or {}).get("gpu")
        if unseen:
            said.append(f"{name}: the GPUs were not sampled: {unseen}")
    return said
