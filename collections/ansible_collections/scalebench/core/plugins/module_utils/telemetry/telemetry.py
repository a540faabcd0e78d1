"""What a node did during one repeat: readings of counters and gauges, made into a summary."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from .gpu_telemetry import GpuTelemetry
from .spread import Spread

__all__ = ["Telemetry"]

_MIB = 1 << 20
_GAUGES = ("load", "memory_used_mib", "cpu_mhz")


class Telemetry:
    """The telemetry of one repeat on one node; its size does not grow with the samples.

    Counters run on since boot, so two readings of them are enough: one before the first process of
    the repeat and one after its last. Gauges are of the moment and are read in between.

    :param interval: seconds between two samples.
    :param before: the reading of the counters before the repeat: ``time`` (s, monotonic) and, where
        the node has them, ``load``, ``cpu``, ``network``, ``infiniband``,
        ``cpu_throttle_events``, ``memory_stall_seconds``, ``swapped_in_mib``.
    """

    def __init__(self, interval: float, before: Mapping[str, Any]) -> None:
        self._interval = interval
        self._before = before
        self._samples = 0
        self._gauges = {name: Spread() for name in _GAUGES}
        self._gpus: Dict[int, GpuTelemetry] = {}

    def add(self, sample: Mapping[str, Any]) -> None:
        """Take one sample in.

        :param sample: ``load``, ``memory_used_mib``, ``cpu_mhz`` and ``gpus``, as far as read.
        """
        self._samples += 1
        for name, gauge in self._gauges.items():
            if name in sample:
                gauge.add(sample[name])
        for gpu in sample.get("gpus", ()):
            self._gpus.setdefault(gpu["index"], GpuTelemetry()).add(gpu)

    def summary(
        self, after: Mapping[str, Any], own_seconds: float, sampling_seconds: float
    ) -> Dict[str, Any]:
        """Return the summary; a figure that the node does not have is absent from it.

        :param after: the reading of the counters after the repeat, as ``before``.
        :param own_seconds: CPU seconds of all processes of the repeat on this node.
        :param sampling_seconds: CPU seconds that the readings took.
        """
        before = self._before
        found: Dict[str, Any] = {
            "interval": self._interval,
            "samples": self._samples,
            "seconds": round(after["time"] - before["time"], 3),
            "cpu": {"own_seconds": round(own_seconds, 3)},
            "sampling_seconds": round(sampling_seconds, 4),
        }
        if "cpu" in before and "cpu" in after:
            found["cpu"].update(_grown(before["cpu"], after["cpu"]), cores=after["cpu"]["cores"])
        for name in ("cpu_throttle_events", "memory_stall_seconds", "swapped_in_mib"):
            if name in before and name in after:
                found[name] = _less(after[name], before[name])
        for name in ("network", "infiniband"):
            if name in before and name in after:
                found[name] = _traffic(before[name], after[name])
        for name, gauge in self._gauges.items():
            spread = gauge.summary()
            if spread:
                found[name] = spread
        if "load" in before:
            found["load"] = {"before": before["load"], **found.get("load", {})}
        if self._gpus:
            found["gpus"] = [self._gpus[index].summary() for index in sorted(self._gpus)]
        return found


def _less(after: float, before: float) -> float:
    # The kernel says that iowait may go backwards: proc_stat(5).
    return max(0, round(after - before, 3))


def _grown(before: Mapping[str, float], after: Mapping[str, float]) -> Dict[str, float]:
    """Return by how much each counter grew that both readings have."""
    return {name: _less(after[name], before[name]) for name in before if name in after}


def _traffic(
    before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]]
) -> Dict[str, Dict[str, float]]:
    """Return what each interface moved, bytes as MiB; one that came or went has no figure."""
    found: Dict[str, Dict[str, float]] = {}
    for interface in sorted(set(before) & set(after)):
        for name, value in _grown(before[interface], after[interface]).items():
            figures = found.setdefault(interface, {})
            if name.endswith("_bytes"):
                figures[name.replace("_bytes", "_mib")] = round(value / _MIB, 3)
            else:
                figures[name] = value
    return found
