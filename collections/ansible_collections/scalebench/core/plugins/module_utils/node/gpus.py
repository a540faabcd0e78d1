"""The GPUs of a node: sampled through NVML's Python binding, and the processes that use them."""

from __future__ import annotations

import importlib
import os
import subprocess
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

__all__ = ["Gpu", "GpuSampler", "ask", "device_users", "find_nvml", "visible_gpus"]

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
# One of these paths exists where NVIDIA's driver has found a GPU.
_SIGNS = ("/proc/driver/nvidia", "/dev/nvidia0")
# Longest wait for nvidia-smi, whose driver may hang.
_PATIENCE_SECONDS = 20


def ask(nvml: Any, call: str, *arguments: Any) -> Any:
    """Return the result of an NVML call; None where it is not supported or fails."""
    function = getattr(nvml, call, None)
    if function is None:
        return None
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None


class Gpu:
    """One GPU; NVML records its Xid errors from the creation of this object on.

    :raises nvml.NVMLError: the GPU does not respond.
    """

    def __init__(self, nvml: Any, index: int) -> None:
        self._nvml = nvml
        self._handle = nvml.nvmlDeviceGetHandleByIndex(index)
        self._identity: Dict[str, Any] = {"index": index}
        for key, call in (("uuid", "nvmlDeviceGetUUID"), ("name", "nvmlDeviceGetName")):
            text = ask(nvml, call, self._handle)
            if text is not None:
                # Bindings before 11.5 return bytes.
                self._identity[key] = text.decode() if isinstance(text, bytes) else text
        self._events = ask(nvml, "nvmlEventSetCreate")
        if self._events is not None:
            try:
                nvml.nvmlDeviceRegisterEvents(
                    self._handle, nvml.nvmlEventTypeXidCriticalError, self._events
                )
            except nvml.NVMLError:
                self.close()

    def sample(self) -> Dict[str, Any]:
        """Return one sample for ``GpuTelemetry.add``; a figure not reported is absent."""
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
        known = {name: figure for name, figure in figures.items() if figure is not None}
        return {**self._identity, **known}

    def close(self) -> None:
        """Release the event set."""
        if self._events is not None:
            ask(self._nvml, "nvmlEventSetFree", self._events)
            self._events = None

    def _ask(self, call: str, *arguments: Any) -> Any:
        return ask(self._nvml, call, self._handle, *arguments)

    def _throttle(self) -> Optional[List[str]]:
        """Return the active reasons that limit the clocks; None where not reported."""
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:
            # The name of the call before driver 535.
            bits = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        if bits is None:
            return None
        return [reason for bit, reason in _REASONS.items() if bits & bit]

    def _xid(self) -> Optional[List[int]]:
        """Return the codes of the Xid errors since the last sample; None where not reported."""
        if self._events is None:
            return None
        codes: List[int] = []
        event = ask(self._nvml, "nvmlEventSetWait_v2", self._events, 0)
        while event is not None:
            codes.append(event.eventData)
            event = ask(self._nvml, "nvmlEventSetWait_v2", self._events, 0)
        return codes


def find_nvml() -> Tuple[Any, str]:
    """Return NVML's Python binding or None, and why a node with a GPU has none (else empty)."""
    if not any(map(os.path.exists, _SIGNS)):
        return None, ""
    try:
        return importlib.import_module("pynvml"), ""
    except ImportError as error:
        return None, f"{error}: install nvidia-ml-py for the node's Python"


def visible_gpus(environment: Mapping[str, str]) -> Optional[List[int]]:
    """Return the indices in ``CUDA_VISIBLE_DEVICES``; None where all GPUs may be used."""
    named = environment.get("CUDA_VISIBLE_DEVICES")
    return [int(index) for index in named.split(",")] if named else None


class GpuSampler:
    """Samples the GPUs of a repeat.

    :param nvml: NVML's binding; None where it cannot be used.
    :param reason: why not.
    :param indices: of the GPUs; None for all of the node.
    """

    def __init__(
        self, nvml: Any, reason: str = "", indices: Optional[Sequence[int]] = None
    ) -> None:
        self._nvml = nvml
        self._reason = reason
        self._gpus: List[Gpu] = []
        if nvml is None:
            return
        try:
            nvml.nvmlInit()
            count = nvml.nvmlDeviceGetCount()
        except nvml.NVMLError as error:
            self._reason = f"NVML: {error}"
            return
        for index in range(count) if indices is None else indices:
            try:
                self._gpus.append(Gpu(nvml, index))
            except nvml.NVMLError as error:
                self._reason = f"GPU {index}: {error}"

    def sample(self) -> Dict[str, Any]:
        """Return ``gpus``, one sample per GPU; an empty mapping without GPUs."""
        return {"gpus": [gpu.sample() for gpu in self._gpus]} if self._gpus else {}

    def close(self) -> str:
        """Release NVML; return why GPUs were not sampled, empty if they were or there are none."""
        for gpu in self._gpus:
            gpu.close()
        if self._nvml is not None:
            ask(self._nvml, "nvmlShutdown")
        return self._reason


def device_users(environment: Mapping[str, str]) -> List[str]:
    """Return ``<pid>, <name>`` of each process on the GPUs of ``CUDA_VISIBLE_DEVICES``.

    :param environment: of the repeat; without that variable it uses no GPU.
    :raises ValueError: nvidia-smi is missing, fails or hangs.
    """
    indices = environment.get("CUDA_VISIBLE_DEVICES")
    if not indices:
        return []
    command = ["nvidia-smi", f"--id={indices}", "--query-compute-apps=pid,process_name"]
    try:
        done = subprocess.run(
            [*command, "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise ValueError(f"GPUs {indices} are requested, and nvidia-smi is missing") from None
    except subprocess.TimeoutExpired:
        raise ValueError(f"nvidia-smi did not respond within {_PATIENCE_SECONDS} s") from None
    if done.returncode:
        output = (done.stdout + done.stderr).strip()
        raise ValueError(f"nvidia-smi: exit code {done.returncode}: {output}")
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]
