"""What one GPU did during one repeat."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from .spread import Spread

__all__ = ["GpuTelemetry"]

_GAUGES = (
    *("utilisation", "memory_used_mib", "sm_clock_mhz", "memory_clock_mhz"),
    *("power_w", "temperature_c"),
)
_LAST_KNOWN = ("index", "uuid", "name", "power_limit_w")


class GpuTelemetry:
    """The samples of one GPU; their number does not change its size."""

    def __init__(self) -> None:
        self._known: Dict[str, Any] = {}
        self._gauges: Dict[str, Spread] = {}
        self._throttle: Optional[Dict[str, int]] = None
        self._throttle_samples = 0
        self._first_ecc: Optional[int] = None
        self._last_ecc = 0
        self._xid: Optional[List[int]] = None

    def add(self, sample: Mapping[str, Any]) -> None:
        """Take one sample in.

        :param sample: ``index`` and, as far as the GPU tells them: ``uuid``, ``name``,
            ``utilisation`` (percent), ``memory_used_mib``, ``sm_clock_mhz``, ``memory_clock_mhz``,
            ``power_w``, ``power_limit_w``, ``temperature_c``, ``throttle`` (names of the reasons),
            ``ecc_uncorrected`` (count since the driver was loaded), ``xid`` (new ones).
        """
        self._known.update({name: sample[name] for name in _LAST_KNOWN if name in sample})
        for name in _GAUGES:
            if name in sample:
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
        """Return spreads of the gauges, ``throttle`` as shares of the samples, errors as counts."""
        found = dict(self._known)
        found.update({name: gauge.summary() for name, gauge in self._gauges.items()})
        if self._throttle is not None:
            found["throttle"] = {
                reason: round(count / self._throttle_samples, 4)
                for reason, count in sorted(self._throttle.items())
            }
        if self._first_ecc is not None:
            found["ecc_uncorrected"] = self._last_ecc - self._first_ecc
        if self._xid is not None:
            found["xid"] = self._xid
        return found
