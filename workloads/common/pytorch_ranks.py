"""The ranks of a torchrun job: their devices, how they exchange values, and their weights."""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Iterable, Sequence
from datetime import timedelta
from glob import glob
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from common.job import CHECKSUM_DIGITS, checksum
from common.options import CPU_BUCKET
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


def bucket_mib(asked: int | None, on_gpu: bool) -> int | None:
    """Return the size of DDP's buckets in MiB, None for its own."""
    return asked or (None if on_gpu else CPU_BUCKET)


def bucket_size(mib: int | None) -> dict[str, int]:
    """Return DDP's option for the size of its buckets.

    Left out where none is given: only then is the first bucket of the backward pass a small one,
    1 MiB, whose exchange begins early.
    """
    return {} if mib is None else {"bucket_cap_mb": mib}


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
    dist.init_process_group(_backend(device), timeout=timeout, device_id=_own(device))
    return _backend(device)


def join_alone(device: torch.device) -> None:
    """Make a group of a single rank, for what needs one to compute as several do."""
    dist.init_process_group(
        _backend(device), store=dist.HashStore(), rank=0, world_size=1, device_id=_own(device)
    )


def _backend(device: torch.device) -> str:
    return "nccl" if device.type == "cuda" else "gloo"


def _own(device: torch.device) -> torch.device | None:
    return device if device.type == "cuda" else None


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
    """Disconnect from the other ranks once all are done.

    Gloo's group is left to the end of the process: DDP is freed with Python's lock held, and if it
    is the last to hold the group it then waits for Gloo's threads, which may wait for that lock
    (https://github.com/pytorch/pytorch/issues/56297).
    """
    if place.world_size > 1:
        dist.barrier()
    if dist.is_initialized() and dist.get_backend() != "gloo":
        dist.destroy_process_group()


def checksum_of_weights(place: Place, model: nn.Module) -> str:
    """Return a checksum that is the same on ranks which train the same weights.

    Of sharded weights each rank has another part, and what they gather would be equal whatever
    that is: so each part as its owner holds it is compared with what every rank gathers of it.

    :raises StoppedError: a rank gathers something else; all ranks raise it.
    """
    weights = [weight.detach() for weight in model.parameters()]
    if not hasattr(weights[0], "full_tensor"):
        return _digests([[weight] for weight in weights])[0]
    (own,) = _digests([weight.to_local()] for weight in weights)
    held = gather(place, own)
    # Of a weight with fewer rows than ranks the last ranks have nothing.
    gathered = _digests(weight.full_tensor().chunk(len(held)) for weight in weights)
    for rank, seen in enumerate(gather(place, gathered)):
        others = [str(owner) for owner, part in enumerate(seen) if part != held[owner]]
        if others:
            raise StoppedError(
                "weights_differ",
                f"rank {rank} gathers other weights than ranks {', '.join(others)} hold",
            )
    return checksum(part.encode() for part in gathered)


def _digests(weights: Iterable[Sequence[torch.Tensor]]) -> list[str]:
    """Return a checksum of the first parts of all weights, of the second ones, and so on."""
    digests: list[Any] = []
    for parts in weights:
        digests += [hashlib.sha256() for _ in parts[len(digests) :]]
        for digest, part in zip(digests, parts, strict=False):
            memory = part.cpu().contiguous()  # whatever its number format
            size = memory.numel() * memory.element_size()
            digest.update((ctypes.c_char * size).from_address(memory.data_ptr()))
    return [digest.hexdigest()[:CHECKSUM_DIGITS] for digest in digests]


def peak_memory(device: torch.device) -> float:
    """Return this rank's peak in MiB: allocated on a GPU, else resident memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / MIB
    return peak_resident_mib()
