"""The run record of a repeat: what its nodes and its log say, made into one ending."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple

__all__ = ["record"]

SCHEMA = 1
# When nodes end differently the first of these is the cause: the others follow from it.
_CAUSES = ("interrupted", "launch_failed", "timeout", "stalled", "crashed")
# What a log can tell of a run that did not end well, and more exactly than its exit code.
_TOLD = {"out_of_memory": "out_of_memory", "nan_loss": "nan_loss"}


def record(
    campaign: str,
    repeat: Mapping[str, Any],
    runs: Mapping[str, Mapping[str, Any]],
    facts: Mapping[str, Any],
) -> Dict[str, Any]:
    """Return the run record of one repeat.

    :param repeat: one of ``plan.repeats``.
    :param runs: by node, the result of module training_run; ``unreachable`` and ``msg`` where it
        gave none.
    :param facts: the result of module training_log_facts; ``msg`` and no ``throughput`` where it
        could not read the log.
    :returns: ``ending`` (ok, out_of_memory, nan_loss, stalled, timeout, crashed, launch_failed,
        invalid, interrupted), ``reason``, and all that is known.
    """
    cell = repeat["cell"]
    nodes = {name: _node(runs.get(name, {})) for name in cell["node_names"]}
    ending, reason = _ending(cell, nodes, facts)
    leading = nodes[cell["node_names"][0]]
    return {
        "schema": SCHEMA,
        "campaign": campaign,
        "cell": {key: value for key, value in cell.items() if key != "commands"},
        "repeat": repeat["repeat"],
        "log": repeat["log"],
        "ending": ending,
        "reason": reason,
        "started": leading.get("started"),
        "seconds": max((node.get("seconds") or 0.0 for node in nodes.values()), default=0.0),
        "oversubscribed": cell["oversubscribed"],
        "nodes": nodes,
        "facts": _facts(facts) if _was_read(facts) else None,
    }


def _node(run: Mapping[str, Any]) -> Dict[str, Any]:
    if "ending" in run:
        keys = ("rank", "argv", "env", "started", "node", "exit_code", "ending", "reason")
        return {key: run.get(key) for key in (*keys, "seconds", "ended")}
    what = "unreachable" if run.get("unreachable") else "the node gave no result"
    return {"ending": "launch_failed", "reason": f"{what}: {run.get('msg', 'no message')}"}


def _was_read(facts: Mapping[str, Any]) -> bool:
    """Return whether the log gave facts; ``failed`` does not tell where failed_when is false."""
    return "throughput" in facts


def _facts(facts: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        key: value
        for key, value in facts.items()
        if key not in ("changed", "failed", "invocation", "failed_when_result", "skipped")
        and not key.startswith("_ansible")
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
            return _TOLD[told["kind"]], f"{name}: {told['detail']}"
        return node["ending"], f"{name}: {node['reason']}"
    if not _was_read(facts):
        return "invalid", str(facts.get("msg", "the log could not be read"))
    if told.get("kind") != "complete":
        return "invalid", f"the log is {told.get('kind')}: {told.get('detail', '')}"
    problem = _problem(cell, facts)
    return ("invalid", problem) if problem else ("ok", "")


def _rank(ending: str) -> int:
    return _CAUSES.index(ending) if ending in _CAUSES else len(_CAUSES)


def _problem(cell: Mapping[str, Any], facts: Mapping[str, Any]) -> Optional[str]:
    if facts.get("throughput") is None:
        return str(facts.get("reason") or "the log gives no throughput")
    if facts.get("count") != cell["iterations"]:
        return f"{facts.get('count')} iterations were measured, not {cell['iterations']}"
    return None
