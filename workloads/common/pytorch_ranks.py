"""The ranks of a torchrun job: their devices, how they exchange values, and their weights."""

from __future__ import annotations

import ctypes
import os
from argparse import Namespace
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from common.ranks import Place, end_with_parent, peak_resident_mib, place_from, processor_name
from common.report_lines import StoppedError

MIB = 1 << 20


def find_place() -> Place:
    """Return this rank's place; have the rank end with torchrun, which gives it its own session."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        end_with_parent()
    return place_from(os.environ)


def choose_device(requested: str, place: Place) -> torch.device:
    """Return this rank's device.

    :raises StoppedError: if GPUs are requested and this node has too few that PyTorch can use.
    """
    usable = requested != "cpu" and torch.cuda.is_available()
    count = torch.cuda.device_count() if usable else 0
    if requested == "cpu" or (requested == "auto" and not count):
        return torch.device("cpu")
    if place.local_rank >= count:
        raise StoppedError(
            "no_device",
            f"this node has {place.local_size} ranks and {count} GPUs that PyTorch "
            f"{torch.__version__} (CUDA {torch.version.cuda}) can use",
        )
    return torch.device("cuda", place.local_rank)


def autocast_dtype(options: Namespace, on_gpu: bool) -> torch.dtype | None:
    """Return the type that amp computes in, None for fp32.

    :raises StoppedError: for fp16 without a GPU.
    """
    if options.precision == "fp32":
        return None
    name = options.amp_dtype or ("fp16" if on_gpu else "bf16")
    if name == "fp16" and not on_gpu:
        raise StoppedError("no_device", "fp16 autocast needs a GPU; a CPU has --amp-dtype bf16")
    return {"fp16": torch.float16, "bf16": torch.bfloat16}[name]


def use_tf32(allowed: bool) -> None:
    """Set whether fp32 convolutions and matrix products may use TF32."""
    if hasattr(torch.backends.cuda.matmul, "fp32_precision"):  # since PyTorch 2.9
        precision = "tf32" if allowed else "ieee"
        torch.backends.cuda.matmul.fp32_precision = precision
        torch.backends.cudnn.conv.fp32_precision = precision
    else:
        torch.backends.cuda.matmul.allow_tf32 = allowed
        torch.backends.cudnn.allow_tf32 = allowed


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
    """Yield each parameter's bytes as they lie in memory, whatever its number format."""
    for parameter in model.parameters():
        weights = parameter.detach().cpu().contiguous()
        size = weights.numel() * weights.element_size()
        yield (ctypes.c_char * size).from_address(weights.data_ptr())


def peak_memory(device: torch.device) -> float:
    """Return this rank's peak in MiB: allocated on a GPU, else resident memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / MIB
    return peak_resident_mib()
