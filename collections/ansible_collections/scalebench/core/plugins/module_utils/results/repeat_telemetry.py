"""The telemetry of one repeat in a few figures, over all its nodes."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

__all__ = ["machines_of", "short_telemetry"]

Telemetry = Mapping[str, Any]
# A GPU that waits between two samples is no finding.
_IDLE = "gpu_idle"


def machines_of(nodes: Mapping[str, Mapping[str, Any]]) -> Dict[str, str]:
    """Return by node which machine it is on: nodes under one kernel are one machine.

    :param nodes: fingerprints by node, as in plan.json.
    """
    return {
        name: str(node.get("boot_id") or node.get("machine_id") or name)
        for name, node in nodes.items()
    }


def short_telemetry(
    nodes: Mapping[str, Mapping[str, Any]], machines: Mapping[str, str]
) -> Optional[Dict[str, Any]]:
    """Return the figures of one repeat, None where no node told any.

    ``cpu_busy_share`` and ``cpu_own_share`` are shares of the machines' CPU time, of all processes
    and of the repeat's own; their mean over the machines. The other figures: the greatest
    ``memory_used_mib`` and temperature, ``link`` (the busiest interface, MiB/s in its busier
    direction), means of the GPUs' utilisation (percent), clock and power, and ``gpu_throttle``,
    the greatest share of a GPU's samples by reason.

    :param nodes: by name, each with ``telemetry`` (of module training_run) or without.
    :param machines: what ``machines_of`` returned.
    """
    told: Dict[str, List[Telemetry]] = {}
    for name, node in nodes.items():
        if node.get("telemetry"):
            told.setdefault(machines.get(name, name), []).append(node["telemetry"])
    if not told:
        return None
    # What telemetry tells of a whole machine is whole in that of the node that ran longest.
    longest = [max(many, key=lambda one: float(one["seconds"])) for many in told.values()]
    return {
        key: value
        for key, value in (
            *_cpu(told.values()),
            ("memory_used_mib", _greatest(_spreads(longest, "memory_used_mib"), "max")),
            ("link", _busiest_link(longest)),
            *_gpus([gpu for one in longest for gpu in one.get("gpus", ())]),
        )
        if value is not None
    }


def _cpu(machines: Iterable[List[Telemetry]]) -> Iterator[Tuple[str, Optional[float]]]:
    busy, own = [], []
    for many in machines:
        longest = max(many, key=lambda one: float(one["seconds"]))
        capacity = longest["cpu"].get("cores", 0) * longest["seconds"]
        if capacity and "busy_seconds" in longest["cpu"]:
            busy.append(longest["cpu"]["busy_seconds"] / capacity)
            own.append(sum(one["cpu"]["own_seconds"] for one in many) / capacity)
    yield "cpu_busy_share", _mean(busy)
    yield "cpu_own_share", _mean(own)


def _busiest_link(telemetries: Iterable[Telemetry]) -> Optional[Dict[str, Any]]:
    rates = [
        (round(max(moved["received_mib"], moved["sent_mib"]) / one["seconds"], 1), name)
        for one in telemetries
        for kind in ("network", "infiniband")
        for name, moved in one.get(kind, {}).items()
        if one["seconds"] and "received_mib" in moved and "sent_mib" in moved
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
