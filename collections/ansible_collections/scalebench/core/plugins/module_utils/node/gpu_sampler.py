"""Sample the GPUs of a node through NVML's Python binding, where both are there."""

from __future__ import annotations

import importlib
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .gpu import Gpu, ask

__all__ = ["GpuSampler", "find_nvml", "visible_gpus"]

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


def visible_gpus(environment: Mapping[str, str]) -> Optional[List[int]]:
    """Return the indices in ``CUDA_VISIBLE_DEVICES``, None where all GPUs may be used."""
    named = environment.get("CUDA_VISIBLE_DEVICES")
    return [int(index) for index in named.split(",")] if named else None


class GpuSampler:
    """The GPUs of a repeat as NVML shows them.

    :param nvml: the binding, None where it cannot be used.
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
        """Return ``gpus``, one sample a GPU as ``GpuTelemetry`` takes it; nothing without GPUs."""
        return {"gpus": [gpu.sample() for gpu in self._gpus]} if self._gpus else {}

    def close(self) -> str:
        """Let go of NVML; return why GPUs were not sampled, empty where they were or are none."""
        for gpu in self._gpus:
            gpu.close()
        if self._nvml is not None:
            ask(self._nvml, "nvmlShutdown")
        return self._reason
