"""Telemetry of one repeat on one node: samples of counters and gauges, reduced to a summary.

The size of what is kept does not grow with the number of samples.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional

__all__ = ["GpuTelemetry", "Spread", "Telemetry"]

_LAST_KNOWN = ("index", "uuid", "name", "power_limit_w")
# What else of a GPU is no gauge: reasons, a counter, codes.
_NO_GAUGES = ("throttle", "ecc_uncorrected", "xid")
_MIB = 1 << 20


class Spread:
    """Minimum, mean and maximum of a series whose values are not kept, in their own unit."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0
        self._least = float("inf")
        self._greatest = float("-inf")

    def add(self, value: float) -> None:
        """Add one value."""
        self._count += 1
        self._sum += value
        self._least = min(self._least, value)
        self._greatest = max(self._greatest, value)

    def summary(self) -> Dict[str, float]:
        """Return ``min``, ``mean`` and ``max``; an empty mapping without a value."""
        if not self._count:
            return {}
        return {
            "min": round(self._least, 3),
            "mean": round(self._sum / self._count, 3),
            "max": round(self._greatest, 3),
        }


class GpuTelemetry:
    """The telemetry of one GPU during one repeat."""

    def __init__(self) -> None:
        self._known: Dict[str, Any] = {}
        self._gauges: Dict[str, Spread] = {}
        self._throttle: Optional[Dict[str, int]] = None
        self._throttle_samples = 0
        self._first_ecc: Optional[int] = None
        self._last_ecc = 0
        self._xid: Optional[List[int]] = None

    def add(self, sample: Mapping[str, Any]) -> None:
        """Add one sample.

        :param sample: ``index`` and, where the GPU reports them, ``uuid``, ``name``,
            ``utilisation`` (percent), ``memory_used_mib``, ``sm_clock_mhz``, ``memory_clock_mhz``,
            ``power_w``, ``power_limit_w``, ``temperature_c``, ``throttle`` (names of the active
            reasons), ``ecc_uncorrected`` (count since the driver was loaded), ``xid`` (codes since
            the last sample). Any other number is a gauge too.
        """
        self._known.update({name: sample[name] for name in _LAST_KNOWN if name in sample})
        for name in sample.keys() - {*_LAST_KNOWN, *_NO_GAUGES}:
            self._gauges.setdefault(name, Spread()).add(sample[name])
        if "throttle" in sample:
            self._throttle = self._throttle or {}
            self._throttle_samples += 1
            for reason in sample["throttle"]:
                self._throttle[reason] = self._throttle.get(reason, 0) + 1
        if "ecc_uncorrected" in sample:
            self._last_ecc = sample["ecc_uncorrected"]
            self._first_ecc = self._last_ecc if self._first_ecc is None else self._first_ecc
        if "xid" in sample:
            self._xid = [*(self._xid or ()), *sample["xid"]]

    def summary(self) -> Dict[str, Any]:
        """Return the summary; a figure that the GPU does not report is absent.

        :returns: the identity of the GPU, the spread of each gauge, ``throttle`` (by reason, the
            fraction of the samples), ``ecc_uncorrected`` (errors during the repeat), ``xid``
            (codes).
        """
        summary = dict(self._known)
        summary.update({name: self._gauges[name].summary() for name in sorted(self._gauges)})
        if self._throttle is not None:
            summary["throttle"] = {
                reason: round(count / self._throttle_samples, 4)
                for reason, count in sorted(self._throttle.items())
            }
        if self._first_ecc is not None:
            summary["ecc_uncorrected"] = self._last_ecc - self._first_ecc
        if self._xid is not None:
            summary["xid"] = self._xid
        return summary


class Telemetry:
    """The telemetry of one repeat on one node.

    Counters accumulate from boot, so they are read twice: before the first process of the repeat
    and after its last one. Gauges show the current state and are sampled in between.

    :param interval: seconds between two samples.
    :param before: the counters before the repeat: ``time`` (s, monotonic) and, where the node has
        them, ``load``, ``cpu``, ``network``, ``infiniband``, ``cpu_throttle_events``,
        ``memory_stall_seconds``, ``swapped_in_mib``.
    """

    def __init__(self, interval: float, before: Mapping[str, Any]) -> None:
        self._interval = interval
        self._before = before
        self._samples = 0
        self._gauges: Dict[str, Spread] = {}
        self._gpus: Dict[int, GpuTelemetry] = {}

    def add(self, sample: Mapping[str, Any]) -> None:
        """Add one sample.

        :param sample: ``gpus``, where available, and gauges (``node.sampler.gauges``).
        """
        self._samples += 1
        for name in sample.keys() - {"gpus"}:
            self._gauges.setdefault(name, Spread()).add(sample[name])
        self.add_gpus(sample.get("gpus", ()))

    def add_gpus(self, samples: Iterable[Mapping[str, Any]]) -> None:
        """Add samples of GPUs (:meth:`GpuTelemetry.add`), as of a driver that answers late."""
        for sample in samples:
            self._gpus.setdefault(sample["index"], GpuTelemetry()).add(sample)

    def summary(
        self, after: Mapping[str, Any], own_seconds: float, sampling_seconds: float
    ) -> Dict[str, Any]:
        """Return the summary; a figure that the node does not report is absent.

        :param after: the counters after the repeat, with the keys of ``before``.
        :param own_seconds: CPU seconds of all processes of the repeat on this node.
        :param sampling_seconds: CPU seconds that sampling took.
        """
        before = self._before
        summary: Dict[str, Any] = {
            "interval": self._interval,
            "samples": self._samples,
            "seconds": round(after["time"] - before["time"], 3),
            "cpu": {"own_seconds": round(own_seconds, 3)},
            "sampling_seconds": round(sampling_seconds, 4),
        }
        if "cpu" in before and "cpu" in after:
            summary["cpu"].update(
                _increase(before["cpu"], after["cpu"]), cores=after["cpu"]["cores"]
            )
        for name in ("cpu_throttle_events", "memory_stall_seconds", "swapped_in_mib"):
            if name in before and name in after:
                summary[name] = _difference(after[name], before[name])
        for name in ("network", "infiniband"):
            if name in before and name in after:
                summary[name] = _traffic(before[name], after[name])
        summary.update({name: self._gauges[name].summary() for name in sorted(self._gauges)})
        if "load" in before:
            summary["load"] = {"before": before["load"], **summary.get("load", {})}
        if self._gpus:
            summary["gpus"] = [self._gpus[index].summary() for index in sorted(self._gpus)]
        return summary


def _difference(after: float, before: float) -> float:
    # iowait may decrease: proc_stat(5).
    return max(0, round(after - before, 3))


def _increase(before: Mapping[str, float], after: Mapping[str, float]) -> Dict[str, float]:
    """Return the increase of each counter that both readings have."""
    return {name: _difference(after[name], before[name]) for name in before if name in after}


def _traffic(
    before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]]
) -> Dict[str, Dict[str, float]]:
    """Return the traffic of each interface that both readings have, bytes as MiB."""
    traffic: Dict[str, Dict[str, float]] = {}
    for interface in sorted(set(before) & set(after)):
        for name, value in _increase(before[interface], after[interface]).items():
            figures = traffic.setdefault(interface, {})
            if name.endswith("_bytes"):
                figures[name.replace("_bytes", "_mib")] = round(value / _MIB, 3)
            else:
                figures[name] = value
    return traffic
