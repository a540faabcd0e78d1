"""The ranks of a torchrun job: their devices, how they exchange values, and their weights."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from datetime import timedelta
from glob import glob
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from common.ranks import (
    Place,
    end_with_parent,
    has_code_for,
    peak_resident_mib,
    place_from,
    processor_name,
)
from common.report_lines import StoppedError

MIB = 1 << 20
# Present where a NVIDIA driver is loaded, or the devices of one were given to a container.
GPU_SIGNS = ("/proc/driver/nvidia", "/dev/nvidia[0-9]*", "/dev/dxg")
# The first GPUs that compute in TF32 and bf16: Ampere.
TENSOR_FORMATS = (8, 0)


def find_place() -> Place:
    """Return this rank's place; have the rank end with torchrun, which gives it its own session."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        end_with_parent()
    return place_from(os.environ)


def choose_device(requested: str, place: Place) -> torch.device:
    """Return this rank's device.

    :raises StoppedError: if a GPU is requested, or there, and PyTorch cannot use this rank's.
    """
    count = torch.cuda.device_count() if requested != "cpu" else 0
    signs = count or any(map(glob, GPU_SIGNS))
    if requested == "cpu" or (requested == "auto" and not signs):
        return torch.device("cpu")
    build = f"PyTorch {torch.__version__} (CUDA {torch.version.cuda or 'none'})"
    try:
        torch.cuda.init()
        if place.local_rank < count:
            _check_code(torch.cuda.get_device_properties(place.local_rank), build)
            return torch.device("cuda", place.local_rank)
        problem = "start as many ranks as there are GPUs, or choose --device cpu"
    except (AssertionError, RuntimeError) as error:  # PyTorch for CPUs; driver, fabric or GPU
        problem = str(error).strip().partition("\n")[0]
    raise StoppedError(
        "no_device",
        f"{build} has no GPU for rank {place.local_rank} of the {place.local_size} on this node "
        f"({count} GPUs): {problem}",
    )


def _check_code(gpu: Any, build: str) -> None:
    """Refuse a GPU that PyTorch was not built for: its first kernel would fail.

    :param gpu: of ``torch.cuda.get_device_properties``.
    :raises StoppedError: which GPU, and what to install.
    """
    architectures = torch.cuda.get_arch_list() if torch.version.cuda else []
    if not has_code_for((gpu.major, gpu.minor), architectures):
        raise StoppedError(
            "no_device",
            f"{build} has no code for {gpu.name} (compute capability {gpu.major}.{gpu.minor}), "
            f"only for {' '.join(architectures)}: install a wheel that has it and name it in the "
            "node's stack (frameworks.pytorch; docs/frameworks.md)",
        )


def capability(device: torch.device) -> tuple[int, int] | None:
    """Return the compute capability of a GPU, None of a CPU."""
    return torch.cuda.get_device_capability(device) if device.type == "cuda" else None


def check_precision(precision: str, device: torch.device) -> None:
    """Refuse a precision that the device does not compute in.

    :raises StoppedError: what it needs.
    """
    known = capability(device)
    lacking = known < TENSOR_FORMATS if known else precision == "tf32"
    if precision in ("tf32", "bf16") and lacking:
        raise StoppedError(
            "no_device",
            f"precision {precision} needs a GPU of compute capability 8.0 or later, and this rank "
            f"has {device_name(device)}" + (f" ({known[0]}.{known[1]})" if known else ""),
        )


def autocast_dtype(precision: str, on_gpu: bool) -> torch.dtype | None:
    """Return the type that autocast computes in, None for fp32 and tf32."""
    if precision == "amp" and on_gpu:
        return torch.float16
    return torch.bfloat16 if precision in ("amp", "bf16") else None


def use_tf32(allowed: bool) -> None:
    """Set whether convolutions and matrix products of fp32 tensors use TF32.

    By the older of PyTorch's two interfaces: it sets the newer one's values too, while after a
    change by the newer one alone (``fp32_precision``) torch.compile, which reads both, ends with
    an error (https://github.com/pytorch/pytorch/issues/166387).
    """
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def cuda_facts(device: torch.device) -> dict[str, Any]:
    """Return what PyTorch's GPU code is: versions, architectures, capability; None on a CPU."""
    known = capability(device)
    if known is None:
        return dict.fromkeys(("cuda", "cudnn", "nccl", "capability", "architectures"))
    return {
        **library_versions(),
        "capability": "{}.{}".format(*known),
        "architectures": " ".join(torch.cuda.get_arch_list()),
    }


def library_versions() -> dict[str, Any]:
    """Return the versions of CUDA, cuDNN and NCCL that PyTorch was built with or has loaded."""
    number = torch.backends.cudnn.version() or 0
    # 8902 is 8.9.2, 91002 is 9.10.2: CUDNN_VERSION in cudnn_version.h.
    major, rest = divmod(number, 10000 if number >= 90000 else 1000)
    return {
        "cuda": torch.version.cuda,
        "cudnn": f"{major}.{rest // 100}.{rest % 100}" if number else None,
        "nccl": ".".join(str(part) for part in torch.cuda.nccl.version()),
    }


def device_name(device: torch.device) -> str:
    """Return the GPU's name, or the processor's."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else processor_name()


def join(place: Place, device: torch.device, timeout: timedelta) -> str | None:
    """Connect to the other ranks; return the backend, None for a single rank (no group)."""
    if place.world_size == 1:
        return None
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(
        backend, timeout=timeout, device_id=device if device.type == "cuda" else None
    )
    return backend


def gather(place: Place, value: Any) -> list[Any]:
    """Return every rank's `value`, by rank, on every rank."""
    if place.world_size == 1:
        return [value]
    values: list[Any] = [None] * place.world_size
    dist.all_gather_object(values, value)
    return values


def synchronise(place: Place, device: torch.device) -> None:
    """Wait until all ranks and their devices are ready."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    if place.world_size > 1:
        dist.barrier()


def leave(place: Place) -> None:
    """Disconnect from the other ranks once all are done."""
    if place.world_size > 1:
        dist.barrier()
        dist.destroy_process_group()


def bytes_of_weights(model: nn.Module) -> Iterator[ctypes.Array]:
    """Yield each parameter's bytes as they lie in memory, whatever its number format.

    One that is sharded is put together first, on all ranks alike.
    """
    for parameter in model.parameters():
        whole = parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter
        weights = whole.detach().cpu().contiguous()
        size = weights.numel() * weights.element_size()
        yield (ctypes.c_char * size).from_address(weights.data_ptr())


def peak_memory(device: torch.device) -> float:
    """Return this rank's peak in MiB: allocated on a GPU, else resident memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / MIB
    return peak_resident_mib()
