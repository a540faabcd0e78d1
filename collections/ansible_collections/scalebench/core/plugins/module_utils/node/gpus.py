"""The GPUs of a node: sampled through NVML, and the processes that use them."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import nvidia_smi, nvml
from .nvml import Nvml, NvmlError

__all__ = ["REASONS", "Gpu", "GpuSampler", "device_users", "find_nvml", "visible_gpus"]

# nvmlClocksEventReasons, and two of nvmlClocksThrottleReasons before it.
REASONS = {
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


class Gpu:
    """One GPU; NVML records its Xid errors from the creation of this object on.

    :raises NvmlError: the GPU does not respond.
    """

    def __init__(self, library: Nvml, index: int) -> None:
        self._nvml = library
        self._handle = library.call("nvmlDeviceGetHandleByIndex_v2", index)
        self._identity: Dict[str, Any] = {"index": index}
        for key, function in (("uuid", "nvmlDeviceGetUUID"), ("name", "nvmlDeviceGetName")):
            text = self._ask(function)
            if text is not None:
                self._identity[key] = text
        self._events = library.ask("nvmlEventSetCreate")
        if self._events is not None:
            try:
                library.call(
                    *("nvmlDeviceRegisterEvents", self._handle),
                    *(nvml.XID_CRITICAL_ERROR, self._events),
                )
            except NvmlError:
                self.close()

    def sample(self) -> Dict[str, Any]:
        """Return one sample for ``GpuTelemetry.add``; a figure not reported is absent."""
        utilisation = self._ask("nvmlDeviceGetUtilizationRates")
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        power = self._ask("nvmlDeviceGetPowerUsage")
        limit = self._ask("nvmlDeviceGetEnforcedPowerLimit")
        reasons = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        figures = {
            "utilisation": None if utilisation is None else utilisation.gpu,
            "memory_used_mib": None if memory is None else memory.used / _MIB,
            "sm_clock_mhz": self._ask("nvmlDeviceGetClockInfo", nvml.CLOCK_SM),
            "memory_clock_mhz": self._ask("nvmlDeviceGetClockInfo", nvml.CLOCK_MEM),
            "power_w": None if power is None else power / 1000,
            "power_limit_w": None if limit is None else limit / 1000,
            "temperature_c": self._ask("nvmlDeviceGetTemperature", nvml.TEMPERATURE_GPU),
            "throttle": None
            if reasons is None
            else [reason for bit, reason in REASONS.items() if reasons & bit],
            "ecc_uncorrected": self._ask(
                "nvmlDeviceGetTotalEccErrors",
                nvml.MEMORY_ERROR_TYPE_UNCORRECTED,
                nvml.VOLATILE_ECC,
            ),
            "xid": self._xid(),
        }
        known = {name: figure for name, figure in figures.items() if figure is not None}
        return {**self._identity, **known}

    def close(self) -> None:
        """Release the event set."""
        if self._events is not None:
            self._nvml.ask("nvmlEventSetFree", self._events)
            self._events = None

    def _ask(self, function: str, *arguments: Any) -> Any:
        return self._nvml.ask(function, self._handle, *arguments)

    def _xid(self) -> Optional[List[int]]:
        """Return the codes of the Xid errors since the last sample; None where not reported."""
        if self._events is None:
            return None
        codes: List[int] = []
        event = self._nvml.ask("nvmlEventSetWait_v2", self._events, 0)
        while event is not None:
            codes.append(event.eventData)
            event = self._nvml.ask("nvmlEventSetWait_v2", self._events, 0)
        return codes


def find_nvml() -> Tuple[Optional[Nvml], str]:
    """Return NVML of a node with a driver or None, and why it has none (else empty)."""
    try:
        return Nvml(ctypes.CDLL(nvml.LIBRARY)), ""
    except OSError as error:
        return None, f"{error}: it is part of the driver; install the driver's NVML library"


def visible_gpus(environment: Mapping[str, str]) -> Optional[List[int]]:
    """Return the indices in ``CUDA_VISIBLE_DEVICES``; None where all GPUs may be used."""
    named = environment.get("CUDA_VISIBLE_DEVICES")
    return [int(index) for index in named.split(",")] if named else None


class GpuSampler:
    """Samples the GPUs of a repeat.

    :param library: NVML; None where it cannot be used.
    :param reason: why not.
    :param indices: of the GPUs; None for all of the node.
    """

    def __init__(
        self, library: Optional[Nvml], reason: str = "", indices: Optional[Sequence[int]] = None
    ) -> None:
        self._nvml = library
        self._reason = reason
        self._gpus: List[Gpu] = []
        if library is None:
            return
        try:
            library.call("nvmlInit_v2")
            count = library.call("nvmlDeviceGetCount_v2")
        except NvmlError as error:
            self._reason = f"NVML: {error}"
            return
        for index in range(count) if indices is None else indices:
            try:
                self._gpus.append(Gpu(library, index))
            except NvmlError as error:
                self._reason = f"GPU {index}: {error}"

    def sample(self) -> Dict[str, Any]:
        """Return ``gpus``, one sample per GPU; an empty mapping without GPUs."""
        return {"gpus": [gpu.sample() for gpu in self._gpus]} if self._gpus else {}

    def close(self) -> str:
        """Release NVML; return why GPUs were not sampled, empty if they were or there are none."""
        for gpu in self._gpus:
            gpu.close()
        if self._nvml is not None:
            self._nvml.ask("nvmlShutdown")
        return self._reason


def device_users(environment: Mapping[str, str]) -> List[str]:
    """Return ``<pid>, <name>`` of each process on the GPUs of ``CUDA_VISIBLE_DEVICES``.

    :param environment: of the repeat; without that variable it uses no GPU.
    :raises ValueError: nvidia-smi is missing, fails or hangs.
    """
    indices = environment.get("CUDA_VISIBLE_DEVICES")
    if not indices:
        return []
    if nvidia_smi.find() is None:
        raise ValueError(f"GPUs {indices} are requested, and nvidia-smi is missing")
    return [f"{pid}, {name}" for pid, name in nvidia_smi.processes(f"--id={indices}")]
