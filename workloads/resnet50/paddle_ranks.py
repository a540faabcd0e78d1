"""The ranks of one Paddle job and where they run, as its launcher states it in the environment."""

from __future__ import annotations

import os
from typing import Any

import paddle.distributed as dist
from rank_place import Place, end_with_parent


def place_of(environment: Any) -> Place:
    """Read what paddle.distributed.launch sets; one rank where it is unset."""
    return Place(
        int(environment.get("PADDLE_TRAINER_ID", 0)),
        int(environment.get("PADDLE_TRAINERS_NUM", 1)),
        int(environment.get("PADDLE_LOCAL_RANK", 0)),
        int(environment.get("PADDLE_LOCAL_SIZE", 1)),
    )


def end_with_launcher() -> None:
    """End this rank when its launcher dies, even by SIGKILL: it is in a session of its own."""
    if "PADDLE_TRAINER_ID" in os.environ:
        end_with_parent()


def join(place: Place) -> str | None:
    """Meet the other ranks; return the backend, or None for a single rank, which has no group."""
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


def meet(place: Place) -> None:
    """Wait until all ranks are here."""
    if place.world_size > 1:
        dist.barrier()
