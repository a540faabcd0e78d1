"""The run record of a repeat: what its nodes and its log say, made into one ending."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..logs._ending import scan
from ..telemetry import disturbances
from . import invariants

__all__ = ["ENDINGS", "not_run", "record"]

SCHEMA = 2
ENDINGS = (
    *("ok", "out_of_memory", "nan_loss", "stalled", "timeout", "crashed", "launch_failed"),
    *("invalid", "unavailable", "interrupted", "skipped"),
)
# When nodes end differently the first of these is the cause: the others follow from it.
_CAUSES = ("interrupted", "launch_failed", "timeout", "stalled", "crashed", "cancelled")
# What a log can tell of a run that did not end well, and more exactly than its exit code.
_TOLD = ("out_of_memory", "nan_loss")
_OF_A_RUN = (
    *("rank", "argv", "env", "started", "node", "exit_code", "ending", "reason", "seconds"),
    *("ended", "strays", "telemetry", "memory_mib", "device_users"),
)
_OF_THE_PLAN = ("repeat", "log", "attempt", "kind", "why", "packed_with", "shares_machine")


def record(
    campaign: Mapping[str, str],
    repeat: Mapping[str, Any],
    runs: Mapping[str, Mapping[str, Any]],
    facts: Mapping[str, Any],
) -> Dict[str, Any]:
    """Return the run record of one repeat.

    :param campaign: ``campaign`` (its name), ``session`` (the run of bench.yml) and ``recorded``
        (now, UTC, ISO 8601).
    :param repeat: one of a wave's.
    :param runs: by node, the result of module training_run; ``unreachable`` and ``msg`` where it
        gave none.
    :param facts: the result of module training_log_facts; ``msg`` and no ``throughput`` where it
        could not read the log.
    :returns: ``ending`` (one of ``ENDINGS``), ``reason``, ``disturbances``, and all that is known.
    """
    cell = repeat["cell"]
    nodes = {name: _node(runs.get(name, {})) for name in cell["node_names"]}
    ending, reason = _ending(cell, nodes, facts)
    leading = nodes[cell["node_names"][0]]
    head = _head(campaign, repeat, ending, reason)
    if ending == "out_of_memory" and cell.get("searched"):
        # What ran for some steps does not last: the search goes on below it.
        head["kind"] = "search"
    return {
        **head,
        "started": leading.get("started"),
        "memory_mib": leading.get("memory_mib"),
        "seconds": max((node.get("seconds") or 0.0 for node in nodes.values()), default=0.0),
        "disturbances": _disturbances(repeat, nodes),
        "nodes": nodes,
        "facts": _facts(facts) if _was_read(facts) else None,
    }


def not_run(
    campaign: Mapping[str, str], repeat: Mapping[str, Any], ending: str, reason: str
) -> Dict[str, Any]:
    """Return the record of a repeat that was not tried: ``skipped`` or ``unavailable``."""
    head = _head(campaign, repeat, ending, reason)
    return {
        **head,
        "started": None,
        "memory_mib": None,
        "seconds": 0.0,
        "disturbances": [],
        "nodes": {},
        "facts": None,
    }


def _head(
    campaign: Mapping[str, str], repeat: Mapping[str, Any], ending: str, reason: str
) -> Dict[str, Any]:
    return {
        "schema": SCHEMA,
        **campaign,
        "cell": {key: value for key, value in repeat["cell"].items() if key != "commands"},
        **{key: repeat[key] for key in _OF_THE_PLAN if key in repeat},
        "ending": ending,
        "reason": reason,
        "oversubscribed": repeat["cell"]["oversubscribed"],
    }


def _node(run: Mapping[str, Any]) -> Dict[str, Any]:
    if "ending" in run:
        return {key: run.get(key) for key in _OF_A_RUN}
    what = "unreachable" if run.get("unreachable") else "the node gave no result"
    return {"ending": "launch_failed", "reason": f"{what}: {run.get('msg', 'no message')}"}


def _disturbances(
    repeat: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]
) -> List[Dict[str, str]]:
    sampled = {
        name: {"telemetry": node["telemetry"], **repeat["machines"][name]}
        for name, node in nodes.items()
        if node.get("telemetry")
    }
    # A neighbour on the machine is there by intent: what it costs is measured otherwise.
    expected = ("other_process",) if repeat.get("shares_machine") else ()
    busy = [
        {"kind": "device_busy", "node": name, "detail": f"on its GPUs before: {'; '.join(users)}"}
        for name, node in nodes.items()
        if (users := node.get("device_users"))
    ]
    found = disturbances.find(sampled)
    return busy + [one for one in found if one["kind"] not in expected]


def _was_read(facts: Mapping[str, Any]) -> bool:
    """Return whether the log gave facts; ``failed`` does not tell where failed_when is false."""
    return "throughput" in facts


def _facts(facts: Mapping[str, Any]) -> Dict[str, Any]:
    left_out = ("changed", "failed", "invocation", "failed_when_result", "skipped", "item")
    return {
        key: value
        for key, value in facts.items()
        if key not in left_out and not key.startswith(("_ansible", "ansible_"))
    }


def _ending(
    cell: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], facts: Mapping[str, Any]
) -> Tuple[str, str]:
    told = facts.get("ending") or {}
    unwell = [(name, node) for name, node in nodes.items() if node["ending"] != "ok"]
    if unwell:
        unwell.sort(key=lambda pair: _rank(pair[1]["ending"]))
        name, node = unwell[0]
        if told.get("kind") in _TOLD:
            return told["kind"], f"{name}: {told['detail']}"
        return _of_any(unwell) or (node["ending"], f"{name}: {node['reason']}")
    if not _was_read(facts):
        return "invalid", str(facts.get("msg", "the log could not be read"))
    if told.get("kind") != "complete":
        return "invalid", f"the log is {told.get('kind')}: {told.get('detail', '')}"
    problem = _problem(cell, facts)
    return ("invalid", problem) if problem else ("ok", "")


def _of_any(unwell: Sequence[Tuple[str, Mapping[str, Any]]]) -> Optional[Tuple[str, str]]:
    """Return what a node's last words tell that the log of rank 0 does not."""
    for name, node in unwell:
        for kind, _words, line in scan(node["reason"]) if node["ending"] == "crashed" else ():
            if kind in _TOLD:
                return kind, f"{name}: {line}"
    return None


def _rank(ending: str) -> int:
    return _CAUSES.index(ending) if ending in _CAUSES else len(_CAUSES)


def _problem(cell: Mapping[str, Any], facts: Mapping[str, Any]) -> Optional[str]:
    if facts.get("throughput") is None:
        return str(facts.get("reason") or "the log gives no throughput")
    if cell["iterations"] is not None and facts.get("count") != cell["iterations"]:
        return f"{facts.get('count')} iterations were measured, not {cell['iterations']}"
    broken = invariants.broken(cell, facts)
    return "; ".join(f"{one['rule']}: {one['detail']}" for one in broken) or None
