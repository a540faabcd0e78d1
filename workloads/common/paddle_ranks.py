"""The ranks of a paddle.distributed.launch job: their devices, and how they exchange values."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Any

import paddle
import paddle.distributed as dist

from common.ranks import Place, end_with_parent, peak_resident_mib, place_from
from common.report_lines import StoppedError

MIB = 1 << 20
VARIABLES = ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_LOCAL_RANK", "PADDLE_LOCAL_SIZE")


def find_place() -> Place:
    """Return this rank's place; have the rank end with its launcher, which gives it a session."""
    if "PADDLE_TRAINER_ID" in os.environ:
        end_with_parent()
    return place_from(os.environ, VARIABLES)


def take_device(options: Namespace, place: Place) -> bool:
    """Set this rank's device; return whether it is a GPU.

    :raises StoppedError: if GPUs are requested and this node has too few that Paddle can use, or
        for amp without one: Paddle does not autocast on a CPU, it warns and computes in fp32.
    """
    compiled = paddle.device.is_compiled_with_cuda()
    count = paddle.device.cuda.device_count() if options.device != "cpu" and compiled else 0
    if options.device == "cpu" or (options.device == "auto" and not count):
        if options.precision == "amp":
            raise StoppedError("no_device", "Paddle's automatic mixed precision needs a GPU")
        paddle.set_device("cpu")
        return False
    if place.local_rank >= count:
        hint = (
            "" if compiled else "; it is built for CPUs: name a build for GPUs (framework_python)"
        )
        raise StoppedError(
            "no_device",
            f"this node has {place.local_size} ranks and {count} GPUs that Paddle "
            f"{paddle.__version__} can use{hint}",
        )
    paddle.set_device(f"gpu:{dist.ParallelEnv().device_id}")
    return True


def join(place: Place) -> str | None:
    """Connect to the other ranks; return the backend, None for a single rank (no group)."""
    if place.world_size == 1:
        return None
    dist.init_parallel_env()
    return dist.get_backend().lower()


def gather(place: Place, value: Any) -> list[Any]:
    """Return every rank's `value`, by rank, on every rank."""
    if place.world_size == 1:
        return [value]
    values: list[Any] = []
    dist.all_gather_object(values, value)
    return values


def wait_for_ranks(place: Place) -> None:
    """Wait until all ranks are ready."""
    if place.world_size > 1:
        dist.barrier()


def peak_memory(on_gpu: bool) -> float:
    """Return this rank's peak in MiB: allocated on a GPU, else resident memory."""
    if on_gpu:
        return paddle.device.cuda.max_memory_allocated() / MIB
    return peak_resident_mib()
