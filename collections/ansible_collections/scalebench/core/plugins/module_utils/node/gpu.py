"""Sample one GPU through NVML's Python binding."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

__all__ = ["Gpu", "ask"]

# nvmlClocksEventReasons, NVML API Reference Guide.
_REASONS = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
    0x200: "board_limit",
    0x400: "reliability",
}
_MIB = 1 << 20


def ask(nvml: Any, call: str, *arguments: Any) -> Any:
    """Return NVML's answer; None where the binding, the driver or the GPU has none (now)."""
    function = getattr(nvml, call, None)
    if function is None:
        return None
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None


class Gpu:
    """One GPU, of which NVML is asked to keep the Xid errors from now on.

    :raises nvml.NVMLError: the GPU does not answer.
    """

    def __init__(self, nvml: Any, index: int) -> None:
        self._nvml = nvml
        self._handle = nvml.nvmlDeviceGetHandleByIndex(index)
        self._known: Dict[str, Any] = {"index": index}
        for key, call in (("uuid", "nvmlDeviceGetUUID"), ("name", "nvmlDeviceGetName")):
            text = ask(nvml, call, self._handle)
            if text is not None:
                # Bindings before 11.5 answer in bytes.
                self._known[key] = text.decode() if isinstance(text, bytes) else text
        self._events = ask(nvml, "nvmlEventSetCreate")
        if self._events is not None:
            try:
                nvml.nvmlDeviceRegisterEvents(
                    self._handle, nvml.nvmlEventTypeXidCriticalError, self._events
                )
            except nvml.NVMLError:
                self.close()

    def sample(self) -> Dict[str, Any]:
        """Return one sample as ``GpuTelemetry`` takes it; what the GPU does not tell is absent."""
        nvml = self._nvml
        utilisation = self._ask("nvmlDeviceGetUtilizationRates")
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        power = self._ask("nvmlDeviceGetPowerUsage")
        limit = self._ask("nvmlDeviceGetEnforcedPowerLimit")
        figures = {
            "utilisation": None if utilisation is None else utilisation.gpu,
            "memory_used_mib": None if memory is None else memory.used / _MIB,
            "sm_clock_mhz": self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
            "memory_clock_mhz": self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM),
            "power_w": None if power is None else power / 1000,
            "power_limit_w": None if limit is None else limit / 1000,
            "temperature_c": self._ask("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
            "throttle": self._throttle(),
            "ecc_uncorrected": self._ask(
                "nvmlDeviceGetTotalEccErrors",
                nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                nvml.NVML_VOLATILE_ECC,
            ),
            "xid": self._xid(),
        }
        told = {name: figure for name, figure in figures.items() if figure is not None}
        return {**self._known, **told}

    def close(self) -> None:
        """Let go of the events."""
        if self._events is not None:
            ask(self._nvml, "nvmlEventSetFree", self._events)
            self._events = None

    def _ask(self, call: str, *arguments: Any) -> Any:
        return ask(self._nvml, call, self._handle, *arguments)

    def _throttle(self) -> Optional[List[str]]:
        """Return why the clocks are not higher at the moment."""
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:
            # The call's name before driver 535.
            bits = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        if bits is None:
            return None
        return [reason for bit, reason in _REASONS.items() if bits & bit]

    def _xid(self) -> Optional[List[int]]:
        """Return the Xid errors since the last sample, without waiting for one."""
        if self._events is None:
            return None
        found: List[int] = []
        event = ask(self._nvml, "nvmlEventSetWait_v2", self._events, 0)
        while event is not None:
            found.append(event.eventData)
            event = ask(self._nvml, "nvmlEventSetWait_v2", self._events, 0)
        return found
