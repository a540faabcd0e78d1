"""Peaks of GPUs in FLOP/s by name and precision: dense figures, at the boost clock.

Data sheets from Ampere on print figures with sparsity; these are half of them.
"""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple, Optional, Tuple

__all__ = ["PEAKS", "Peak", "peak_of"]


class Peak(NamedTuple):
    """FLOP/s of one device, and where the figure comes from."""

    flops_per_second: float
    source: str


class _Gpu(NamedTuple):
    """One entry: a pattern of the names that the driver gives, TFLOP/s by precision, the source."""

    name: str
    tflops: Mapping[str, float]
    source: str


def _halves(tflops: float) -> Mapping[str, float]:
    return {"fp16": tflops, "bf16": tflops}


# fp32 is without tensor cores, the others are on them. The first entry that matches counts.
PEAKS: Tuple[_Gpu, ...] = (
    _Gpu("V100-SXM2", {"fp32": 15.7, "fp16": 125}, "NVIDIA V100 data sheet, January 2020"),
    _Gpu("V100-PCIE", {"fp32": 14.0, "fp16": 112}, "NVIDIA V100 data sheet, January 2020"),
    _Gpu(r"\bT4\b", {"fp32": 8.1, "fp16": 65}, "NVIDIA T4 data sheet, March 2019"),
    _Gpu(
        r"\bA100\b",
        {"fp32": 19.5, "tf32": 156, **_halves(312)},
        "NVIDIA A100 data sheet, June 2021, dense",
    ),
    _Gpu(r"\bA10\b", {"fp32": 31.2, "tf32": 62.5, **_halves(125)}, "NVIDIA A10 data sheet, dense"),
    _Gpu(r"\bL40S\b", {"fp32": 91.6, "tf32": 183, **_halves(362)}, "NVIDIA L40S data sheet, dense"),
    _Gpu(
        r"\bH100\b.*NVL",
        {"fp32": 60, "tf32": 417.5, **_halves(835)},
        "NVIDIA H100 data sheet, H100 NVL, dense",
    ),
    _Gpu(
        r"\bH100\b.*PCIe",
        {"fp32": 51, "tf32": 378, **_halves(756)},
        "NVIDIA H100 data sheet, H100 PCIe, dense",
    ),
    _Gpu(
        r"\bH[12]00\b(?!.*NVL)",
        {"fp32": 67, "tf32": 494.5, **_halves(989)},
        "NVIDIA H100 and H200 data sheets, SXM, dense",
    ),
    _Gpu(
        r"\bB200\b", {**_halves(2250)}, "pytorch/torchtitan@b5bcd76 torchtitan/tools/utils.py:193"
    ),
)


def peak_of(device_name: Optional[str], precision: Optional[str]) -> Optional[Peak]:
    """Return the peak of a GPU, None of one that the table does not have.

    :param device_name: as the driver states it, ``NVIDIA H100 80GB HBM3``.
    :param precision: of the cell; mixed precision, ``amp``, computes its products in fp16 or bf16.
    """
    for gpu in PEAKS:
        if device_name and re.search(gpu.name, device_name, re.IGNORECASE):
            figure = gpu.tflops.get("fp16" if precision == "amp" else precision or "")
            return None if figure is None else Peak(figure * 1e12, gpu.source)
    return None
