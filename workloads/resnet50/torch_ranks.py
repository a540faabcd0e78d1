"""The ranks of one job and where they run, as torchrun states it in the environment."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from rank_place import Place, end_with_parent


def place_of(environment: Any) -> Place:
    """Read RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE; one rank where they are unset."""
    return Place(
        int(environment.get("RANK", 0)),
        int(environment.get("WORLD_SIZE", 1)),
        int(environment.get("LOCAL_RANK", 0)),
        int(environment.get("LOCAL_WORLD_SIZE", 1)),
    )


def end_with_launcher() -> None:
    """End this rank when torchrun dies, even by SIGKILL: it is in a session of its own."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        end_with_parent()


def join(place: Place, device: torch.device, timeout: timedelta) -> str | None:
    """Meet the other ranks; return the backend, or None for a single rank, which has no group."""
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


def leave(place: Place) -> None:
    """Part from the other ranks once all are done."""
    if place.world_size > 1:
        dist.barrier()
        dist.destroy_process_group()
