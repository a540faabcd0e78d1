"""The peak of a rank's device: of GPUs by their name, of a CPU measured in the same run."""

from __future__ import annotations

import re
import time

import torch

SIDE = 1024  # of the square matrices: 2 * SIDE ** 3 operations
WINDOWS, WINDOW = 3, 0.1  # s; with the first product, which is not counted, less than a second
MEASURED = f"product with a transposed matrix of {SIDE} x {SIDE}, measured in this run"
# Dense TFLOP/s at the boost clock, fp32 without tensor cores: as module_utils/models/flops.py has
# them, which the nodes do not have (a test holds the two equal).
V100, DENSE = "NVIDIA V100 data sheet, January 2020", "data sheet, dense"
GPUS = (
    ("V100-SXM2", {"fp32": 15.7, "amp": 125}, V100),
    ("V100-PCIE", {"fp32": 14.0, "amp": 112}, V100),
    (r"\bT4\b", {"fp32": 8.1, "amp": 65}, "NVIDIA T4 data sheet, March 2019"),
    (r"\bA100\b", {"fp32": 19.5, "tf32": 156, "bf16": 312}, f"NVIDIA A100 {DENSE}, June 2021"),
    (r"\bA10\b", {"fp32": 31.2, "tf32": 62.5, "bf16": 125}, f"NVIDIA A10 {DENSE}"),
    (r"\bL40S\b", {"fp32": 91.6, "tf32": 183, "bf16": 362}, f"NVIDIA L40S {DENSE}"),
    (r"\bH100\b.*NVL", {"fp32": 60, "tf32": 417.5, "bf16": 835}, f"NVIDIA H100 NVL {DENSE}"),
    (r"\bH100\b.*PCIe", {"fp32": 51, "tf32": 378, "bf16": 756}, f"NVIDIA H100 PCIe {DENSE}"),
    (
        r"\bH[12]00\b(?!.*NVL)",
        {"fp32": 67, "tf32": 494.5, "bf16": 989},
        f"NVIDIA H100 and H200 SXM {DENSE}",
    ),
    (r"\bB200\b", {"bf16": 2250}, "pytorch/torchtitan@b5bcd76 torchtitan/tools/utils.py:193"),
)


def peak_of_gpu(name: str, precision: str) -> tuple[float, str] | None:
    """Return the operations per second of a GPU and their source, None of one that is not known.

    :param name: as PyTorch states it.
    """
    for pattern, tflops, source in GPUS:
        if re.search(pattern, name, re.IGNORECASE):
            # From Ampere on fp16, which amp computes in, has the peak of bf16.
            figure = {"amp": tflops.get("bf16"), **tflops}.get(precision)
            return figure and (figure * 1e12, source)
    return None


def measured_peak(dtype: torch.dtype) -> float:
    """Return the operations per second of a product of matrices on this process's threads.

    The best of :data:`WINDOWS` means: a rank that shares its core has a share of the core's peak.
    The second matrix is transposed, as the weights of a linear layer: CPUs without instructions for
    bf16 are ten times slower with one that is not.
    """
    one, two = (torch.randn(SIDE, SIDE).to(dtype) for _ in range(2))
    two = two.t()
    out = torch.empty(SIDE, SIDE, dtype=dtype)
    torch.mm(one, two, out=out)
    return max(_rate(one, two, out) for _ in range(WINDOWS))


def _rate(one: torch.Tensor, two: torch.Tensor, out: torch.Tensor) -> float:
    begin, count = time.perf_counter(), 0
    while True:
        torch.mm(one, two, out=out)
        count += 1
        passed = time.perf_counter() - begin
        if passed > WINDOW:
            return count * 2 * SIDE**3 / passed
