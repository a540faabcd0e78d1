"""Sample the GPUs of a node through NVML's Python binding, where both are there."""

from __future__ import annotations

import importlib
import os
from typing import Any, Dict, List, Tuple

from .gpu import Gpu, ask

__all__ = ["GpuSampler", "find_nvml"]

# One of them is there where NVIDIA's driver has found a GPU.
_SIGNS = ("/proc/driver/nvidia", "/dev/nvidia0")


def find_nvml() -> Tuple[Any, str]:
    """Return the binding, and why there is none though the node has a GPU (else nothing)."""
    if not any(map(os.path.exists, _SIGNS)):
        return None, ""
    try:
        return importlib.import_module("pynvml"), ""
    except ImportError as error:
        return None, f"{error}: install nvidia-ml-py for the node's Python"


class GpuSampler:
    """All GPUs that NVML shows.

    :param nvml: the binding, None where it cannot be used.
    :param reason: why not.
    """

    def __init__(self, nvml: Any, reason: str = "") -> None:
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
        for index in range(count):
            try:
                self._gpus.append(Gpu(nvml, index))
            except nvml.NVMLError as error:
                self._reason = f"GPU {index}: {error}"

    def sample(self) -> Dict[str, Any]:
        """Return ``gpus``, one sample a GPU as ``GpuTelemetry`` takes it; nothing without GPUs."""
        return {"gpus": [gpu.sample() for gpu in self._gpus]} if self._gpus else {}

    def close(self) -> str:
        """Let go of NVML; return why GPUs were not sampled, empty where they were or are none."""
        for gpu in self._gpus:
            gpu.close()
        if self._nvml is not None:
            ask(self._nvml, "nvmlShutdown")
        return self._reason
