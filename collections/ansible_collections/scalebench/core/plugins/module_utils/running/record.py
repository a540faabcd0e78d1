"""The run record of a repeat: what its nodes and its log report, reduced to one ending."""

from __future__ import annotations

import json
import signal
from typing import Any, List, Mapping, Optional, Sequence, Tuple, cast

from ..logs._ending import scan
from ..records.endings import LOG, NODE, ending_names, ending_of_log
from ..records.plans import Cell, PlannedRepeat
from ..records.runs import Disturbance, LogFacts, NodeRun, NodeTelemetry, RunRecord
from ..records.shape import check_shape, parse_json
from ..telemetry import disturbances, nccl
from . import invariants

__all__ = ["not_run", "record"]

SCHEMA = 2
_PLAN_KEYS = ("repeat", "log", "attempt", "kind", "why", "packed_with", "shares_machine")
# That a node, its carrier or the controller tells; the others are found here.
_ENDINGS = ("ok", "cancelled", *ending_names(judged_by=NODE))
# How Ansible begins and ends its words on a connection that was lost; what ssh printed follows.
_LOST, _PRINTED = "Data could not be sent to remote host", "over ssh:"
# Nobody else sends these: a rank of a node whose launcher they ended (below 0), or that says so
# (128 + N), was at fault.
_OWN_FAULTS = [
    code
    for number in (signal.SIGILL, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
    for code in (-number, 128 + number)
]
_LEAST_TRAFFIC_MIB, _SHARE_OF_TRAFFIC = 1.0, 0.1
# What Ansible adds to the facts of a log.
_ANSIBLE_KEYS = ("changed", "failed", "invocation", "failed_when_result", "skipped", "item")


def record(
    campaign: Mapping[str, str],
    repeat: PlannedRepeat,
    runs: Mapping[str, Mapping[str, Any]],
    facts: Mapping[str, Any],
) -> RunRecord:
    """Return the run record of one repeat.

    :param campaign: ``campaign`` (its name), ``session`` (the run of bench.yml) and ``recorded``
        (now, UTC, ISO 8601).
    :param repeat: one of a wave's.
    :param runs: by node, the result of module training_run; ``unreachable`` and ``msg`` where it
        returned none.
    :param facts: the result of module training_log_facts; ``msg`` and no ``throughput`` where it
        could not read the log.
    """
    cell = repeat["cell"]
    nodes = {name: _node_run(runs.get(name, {})) for name in cell["node_names"]}
    log_facts = _log_facts(facts)
    if log_facts is None:
        unread = str(facts.get("msg", "the log could not be read"))
        ending, reason = _ending_of_nodes(nodes, {}) or ("invalid", unread)
    else:
        ending, reason = _ending_of_nodes(nodes, log_facts) or _ending_of_log(cell, log_facts)
    # Where NCCL should tell another, traffic of other programs must not pass for it.
    by_traffic = len(nodes) > 1 and cell.get("transport", "TCP/").startswith("TCP/")
    for node in nodes.values() if by_traffic else ():
        node["transport"] = node.get("transport") or _interfaces(node.get("telemetry"))
    if ending == "ok":
        ending, reason = _ending_of_transport(cell, nodes)
    leading = nodes[cell["node_names"][0]]
    made = not_run(campaign, repeat, ending, reason)
    if ending == "out_of_memory" and cell.get("searched"):
        # What ran for some steps does not last: the search goes on below it.
        made["kind"] = "search"
    made["started"] = leading.get("started")
    limits = (node.get("memory_mib") for node in nodes.values())
    made["memory_mib"] = min(filter(None, limits), default=leading.get("memory_mib"))
    made["seconds"] = max((node.get("seconds") or 0.0 for node in nodes.values()), default=0.0)
    made["disturbances"] = _disturbances(repeat, nodes)
    made["nodes"] = nodes
    made["facts"] = log_facts
    return made


def not_run(
    campaign: Mapping[str, str], repeat: PlannedRepeat, ending: str, reason: str
) -> RunRecord:
    """Return the record of a repeat that was not tried: ``skipped`` or ``unavailable``."""
    return cast(
        RunRecord,
        {
            "schema": SCHEMA,
            **campaign,
            "cell": {key: value for key, value in repeat["cell"].items() if key != "commands"},
            **{key: value for key, value in repeat.items() if key in _PLAN_KEYS},
            "ending": ending,
            "reason": reason,
            "oversubscribed": repeat["cell"]["oversubscribed"],
            "started": None,
            "memory_mib": None,
            "seconds": 0.0,
            "disturbances": [],
            "nodes": {},
            "facts": None,
        },
    )


def _node_run(run: Mapping[str, Any]) -> NodeRun:
    if "ending" in run:
        try:
            answer = {key: run.get(key) for key in NodeRun.__annotations__}
            return _checked({**answer, "reason": run.get("reason") or ""})
        except (ValueError, RecursionError) as error:
            return {"ending": "launch_failed", "reason": f"the node gave no valid result: {error}"}
    if run.get("unreachable"):
        reason = str(run.get("msg", "no message"))
        if reason.startswith(_LOST):
            # The account's shell may have printed it, so it need not be the cause.
            printed = reason.partition(_PRINTED)[2].strip() or "nothing"
            words = "the connection of this node, its jump host or the network was lost"
            reason = f"{words}; ssh printed: {printed}"
        return {"ending": "launch_failed", "reason": f"unreachable: {reason}"}
    # Of a program that was killed Ansible says only that it printed no result.
    lines = str(run.get("module_stderr") or "").split("\n")
    told = [line.strip() for line in lines if line.strip()]
    errors = [line for line in told if "error" in line.lower()]
    reason = (errors or told or [run.get("msg", "no message")])[-1]
    return {"ending": "launch_failed", "reason": f"the node gave no result: {reason}"}


def _checked(run: Mapping[str, Any]) -> NodeRun:
    """Return a node's answer, which comes from another machine, once a record may hold it.

    :raises ValueError: it may not.
    """
    plain = parse_json(json.dumps(run))
    check_shape(plain, NodeRun, "it", {})
    if plain["ending"] not in _ENDINGS:
        raise ValueError(f"it.ending is {plain['ending']!r:.80}, not one of {', '.join(_ENDINGS)}")
    return cast(NodeRun, plain)


def _interfaces(telemetry: Optional[NodeTelemetry]) -> List[str]:
    """Return what carried a node's messages where NCCL tells nothing, as ``TCP/eth0``.

    By the kernel's counters over the repeat, which RDMA passes by: each interface with a tenth of
    all traffic at least. A bond counts what its members do.
    """
    traffic = {
        name: (link.get("sent_mib") or 0.0) + (link.get("received_mib") or 0.0)
        for name, link in (telemetry.get("network") or {} if telemetry else {}).items()
    }
    least = max(_LEAST_TRAFFIC_MIB, _SHARE_OF_TRAFFIC * sum(traffic.values()))
    return sorted(f"TCP/{name}" for name, mib in traffic.items() if mib >= least)


def _disturbances(repeat: PlannedRepeat, nodes: Mapping[str, NodeRun]) -> List[Disturbance]:
    sampled = {
        name: {"telemetry": node["telemetry"], **repeat["machines"][name]}
        for name, node in nodes.items()
        if node.get("telemetry")
    }
    # A neighbour on the machine is there by intent: what it costs is measured otherwise.
    expected = ("other_process",) if repeat.get("shares_machine") else ()
    busy: List[Disturbance] = [
        {"kind": "device_busy", "node": name, "detail": f"on its GPUs before: {'; '.join(users)}"}
        for name, node in nodes.items()
        if (users := node.get("device_users"))
    ]
    sensed = cast(List[Disturbance], disturbances.find(sampled))
    return busy + [entry for entry in sensed if entry["kind"] not in expected]


def _log_facts(facts: Mapping[str, Any]) -> Optional[LogFacts]:
    """Return the facts without Ansible's own keys, None where the log could not be read.

    ``failed`` is not set where failed_when is false.
    """
    if "throughput" not in facts:
        return None
    kept = {
        key: value
        for key, value in facts.items()
        if key not in _ANSIBLE_KEYS and not key.startswith(("_ansible", "ansible_"))
    }
    return cast(LogFacts, kept)


def _ending_of_nodes(nodes: Mapping[str, NodeRun], facts: LogFacts) -> Optional[Tuple[str, str]]:
    """Return the ending of a repeat and its reason, None where every node ended well."""
    failed = [(name, node) for name, node in nodes.items() if node["ending"] != "ok"]
    if not failed:
        return None
    # When nodes end differently the first is the cause: the others follow from it.
    failed.sort(key=lambda pair: _effect_rank(pair[1]["ending"]))
    name, node = failed[0]
    log_ending = facts.get("ending")
    by_log = ending_of_log(log_ending["kind"]) if log_ending else None
    if log_ending and by_log and by_log.judged_by == LOG:
        return by_log.name, f"{name}: {log_ending['detail']}"
    if words := _in_last_words(failed):
        return words
    alike = [pair for pair in failed if pair[1]["ending"] == node["ending"]]
    name, node = min(alike, key=lambda pair: pair[1].get("exit_code") not in _OWN_FAULTS)
    return node["ending"], f"{name}: {node['reason']}"


def _in_last_words(failed: Sequence[Tuple[str, NodeRun]]) -> Optional[Tuple[str, str]]:
    """Return the ending that the last line of a crashed node states, None without one."""
    for name, node in failed:
        for kind, _words, line in scan(node["reason"]) if node["ending"] == "crashed" else ():
            by_log = ending_of_log(kind)
            if by_log and by_log.judged_by == LOG:
                return by_log.name, f"{name}: {line}"
    return None


def _ending_of_transport(cell: Cell, nodes: Mapping[str, NodeRun]) -> Tuple[str, str]:
    """Return the ending of a repeat that is ok if its ranks took the expected way, and why."""
    for name, node in nodes.items() if "transport" in cell else ():
        other = nccl.unexpected(cell["transport"], node.get("transport") or ())
        if other:
            return "wrong_transport", f"{name}: {other}"
    return "ok", ""


def _effect_rank(ending: str) -> int:
    """Return 0 for the ending of a node that causes all others; unknown ones come last."""
    causes = ending_names(judged_by=NODE)[::-1]
    return causes.index(ending) if ending in causes else len(causes)


def _ending_of_log(cell: Cell, facts: LogFacts) -> Tuple[str, str]:
    """Return the ending of a repeat whose nodes ended well: ok, or invalid and why."""
    log_ending = facts.get("ending")
    if not log_ending or log_ending["kind"] != "complete":
        kind, detail = (log_ending["kind"], log_ending["detail"]) if log_ending else (None, "")
        return "invalid", f"the log is {kind}: {detail}"
    if facts.get("throughput") is None:
        return "invalid", str(facts.get("reason") or "the log gives no throughput")
    measured = invariants.steps_measured(facts)
    if None not in (cell["iterations"], measured) and measured != cell["iterations"]:
        return "invalid", f"{measured} iterations were measured, not {cell['iterations']}"
    findings = invariants.broken(cell, facts)
    problems = "; ".join(f"{finding['rule']}: {finding['detail']}" for finding in findings)
    return ("invalid", problems) if findings else ("ok", "")
