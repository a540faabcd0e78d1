"""One repeat as results.json has it: from its run record, earlier attempts and telemetry."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, cast

from ..models.figures import figures_of
from ..records.endings import never_ran
from ..records.factors import FORMER, factor_names
from ..records.node_names import by_words
from ..records.results import Attempt, LogFigures, Repeat
from ..records.runs import LogFacts, NodeRun, RunRecord
from ..running.elapsed import elapsed_throughput
from ..running.invariants import is_throughput

__all__ = [
    "UNKNOWN_WAY",
    "attempt_of",
    "reason_of",
    "repeat_of",
    "short_telemetry",
]

Telemetry = Mapping[str, Any]
# A GPU that waits between two samples was not held back.
_IDLE = "gpu_idle"
# Among the transports of a repeat where one of its nodes told none.
UNKNOWN_WAY = "unknown"


def repeat_of(
    run: RunRecord, earlier: Sequence[RunRecord] = (), machines: Mapping[str, str] = {}
) -> Repeat:
    """Return one repeat; throughput is None and ``reason`` says why where it gave none.

    :param earlier: the records of earlier attempts, oldest first. Those that were skipped or
        unavailable do not count as attempts.
    :param machines: of ``node_names.machines_of``.
    """
    facts: LogFacts = run.get("facts") or {}
    ending, reason = _ending(run)
    before = [attempt_of(record) for record in earlier if not never_ran(record["ending"])]
    nodes = run.get("nodes") or {}
    repeat: Dict[str, Any] = {
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
        "transport": _ways(nodes, ending),
        "telemetry": short_telemetry(nodes, machines),
        "warnings": [*run.get("warnings", ()), *_warnings(nodes)],
    }
    if run.get("recorded"):
        repeat["recorded"] = run["recorded"]
    log_ending = facts.get("ending")
    if log_ending and log_ending.get("kind", "complete") != "complete":
        repeat["log_ending"] = log_ending
    strategy = facts.get("strategy")
    identity = facts.get("identity") or {}
    # A global batch size is printed in weak scaling too, where it is no factor.
    names = (*factor_names(lambda factor: factor.stated), *(factor.name for factor in FORMER))
    conditions = {key: identity[key] for key in names if identity.get(key) is not None}
    if (run["cell"].get("precision"), conditions.get("precision")) == ("amp", "fp16"):
        # The flag of Paddle and MXNet is called float16, and computes in mixed precision.
        del conditions["precision"]
    stated = {
        **identity,
        **facts,
        "parameters": identity.get("parameters")
        or (identity.get("architecture") or {}).get("parameters"),
        "waits": (facts.get("waits") if ending == "ok" else None) or None,
        "message": facts.get("message") if ending == "ok" else None,
        "figures": (figures_of(run["cell"], facts) if ending == "ok" else None) or None,
        "strategy": strategy and strategy["name"],
        "conditions": conditions or None,
        "elapsed_throughput": elapsed_throughput(facts) if ending == "ok" else None,
    }
    figures = {key: stated.get(key) for key in LogFigures.__annotations__}
    return cast(
        Repeat, {**repeat, **{key: value for key, value in figures.items() if value is not None}}
    )


def attempt_of(run: RunRecord) -> Attempt:
    """Return what the results keep of an earlier attempt."""
    ending, reason = _ending(run)
    facts: LogFacts = run.get("facts") or {}
    return {
        "ending": ending,
        "reason": reason,
        "throughput": facts["throughput"] if ending == "ok" else None,
        "disturbances": list(run.get("disturbances") or ()),
    }


def _ending(run: RunRecord) -> Tuple[str, str]:
    """Return the ending and its reason; ok without a valid throughput is invalid."""
    facts: LogFacts = run.get("facts") or {}
    ending, reason = run.get("ending") or "invalid", run.get("reason") or ""
    speed = facts.get("throughput")
    if ending == "ok" and not is_throughput(speed):
        no_speed = facts.get("reason") or f"its log gave no throughput but {speed}"
        return "invalid", reason or no_speed
    return ending, reason_of(ending, reason)


def reason_of(ending: str, recorded: Optional[str]) -> str:
    """Return why a run ended as it did, in words even where its record has none; ok needs none."""
    return recorded or ("" if ending == "ok" else "no reason given")


def _ways(nodes: Mapping[str, NodeRun], ending: str) -> List[str]:
    """Return what connected the ranks of all nodes; one node needs no network."""
    told = [node.get("transport") or [] for node in nodes.values()]
    untold = ending == "ok" and len(nodes) > 1 and not all(told)
    return sorted({way for ways in told for way in ways}) + [UNKNOWN_WAY] * untold


def _warnings(nodes: Mapping[str, NodeRun]) -> List[str]:
    """Return what was odd on a node and did not change the ending."""
    warnings = []
    for name, node in nodes.items():
        if node.get("strays"):
            words = f"{node['strays']} processes of an earlier run were ended before"
            warnings.append((name, words))
        if node.get("ending") == "ok":
            outlived = f"{node.get('ended')} processes outlived the launcher and were ended"
            # A reason is given for what could not be ended, or not be kept.
            words = node.get("reason") or (outlived if node.get("ended") else "")
            warnings += [(name, words)] if words else []
        telemetry = node.get("telemetry")
        if telemetry and telemetry.get("gpu"):
            warnings.append((name, f"the GPUs were {telemetry['gpu']}"))
    return by_words(warnings)


def short_telemetry(
    nodes: Mapping[str, NodeRun], machines: Mapping[str, str]
) -> Optional[Dict[str, Any]]:
    """Return the telemetry of one repeat in a few figures, None where no node has any.

    ``cpu_busy_share`` and ``cpu_own_share`` are shares of the machines' CPU time, of all processes
    and of the repeat's own; their mean over the machines. The other figures: the greatest
    ``memory_used_mib`` and temperature, ``link`` (the busiest interface, MiB/s in its busier
    direction), means of the GPUs' utilisation (percent), clock and power, and ``gpu_throttle``,
    the greatest share of a GPU's samples by reason.

    :param nodes: by name; ``telemetry`` may be missing.
    :param machines: of ``node_names.machines_of``.
    """
    by_machine: Dict[str, List[Telemetry]] = {}
    for name, node in nodes.items():
        telemetry = node.get("telemetry")
        if telemetry:
            by_machine.setdefault(machines.get(name, name), []).append(telemetry)
    if not by_machine:
        return None
    # Figures of a whole machine are complete in the telemetry of the node that ran longest.
    longest = [_longest(telemetries) for telemetries in by_machine.values()]
    return {
        key: value
        for key, value in (
            *_cpu(by_machine.values()),
            ("memory_used_mib", _greatest(_spreads(longest, "memory_used_mib"), "max")),
            ("link", _busiest_link(longest)),
            *_gpus([gpu for telemetry in longest for gpu in telemetry.get("gpus", ())]),
        )
        if value is not None
    }


def _longest(telemetries: List[Telemetry]) -> Telemetry:
    return max(telemetries, key=lambda telemetry: float(telemetry["seconds"]))


def _cpu(machines: Iterable[List[Telemetry]]) -> Iterator[Tuple[str, Optional[float]]]:
    busy, own = [], []
    for telemetries in machines:
        longest = _longest(telemetries)
        capacity = longest["cpu"].get("cores", 0) * longest["seconds"]
        if capacity and "busy_seconds" in longest["cpu"]:
            busy.append(longest["cpu"]["busy_seconds"] / capacity)
            seconds = sum(telemetry["cpu"]["own_seconds"] for telemetry in telemetries)
            own.append(seconds / capacity)
    yield "cpu_busy_share", _mean(busy)
    yield "cpu_own_share", _mean(own)


def _busiest_link(telemetries: Iterable[Telemetry]) -> Optional[Dict[str, Any]]:
    rates = [
        (round(max(moved["received_mib"], moved["sent_mib"]) / telemetry["seconds"], 1), name)
        for telemetry in telemetries
        for kind in ("network", "infiniband")
        for name, moved in telemetry.get(kind, {}).items()
        if telemetry["seconds"] and "received_mib" in moved and "sent_mib" in moved
    ]
    rate, name = max(rates, default=(None, None))
    return None if rate is None else {"name": name, "mib_per_second": rate}


def _gpus(gpus: List[Mapping[str, Any]]) -> Iterator[Tuple[str, Any]]:
    for key, gauge in (
        ("gpu_utilisation", "utilisation"),
        ("gpu_sm_clock_mhz", "sm_clock_mhz"),
        ("gpu_power_w", "power_w"),
    ):
        yield key, _mean([spread["mean"] for spread in _spreads(gpus, gauge)])
    yield "gpu_temperature_c", _greatest(_spreads(gpus, "temperature_c"), "max")
    yield "gpu_memory_used_mib", _greatest(_spreads(gpus, "memory_used_mib"), "max")
    slowed: Dict[str, float] = {}
    for gpu in gpus:
        for reason, share in gpu.get("throttle", {}).items():
            if reason != _IDLE:
                slowed[reason] = max(share, slowed.get(reason, 0.0))
    yield "gpu_throttle", slowed or None


def _spreads(sources: Iterable[Mapping[str, Any]], name: str) -> List[Mapping[str, float]]:
    return [source[name] for source in sources if source.get(name)]


def _greatest(spreads: Iterable[Mapping[str, float]], key: str) -> Optional[float]:
    return max((spread[key] for spread in spreads), default=None)


def _mean(values: List[float]) -> Optional[float]:
    return round(sum(values) / len(values), 4) if values else None
