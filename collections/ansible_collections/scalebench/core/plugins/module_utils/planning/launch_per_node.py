"""One process on each node, which starts there what it needs."""

from __future__ import annotations

from typing import Dict

from .launch_job import Job, Started

__all__ = ["OPTIONS", "per_node"]

OPTIONS: Dict[str, type] = {}


def per_node(job: Job, name: str) -> Started:
    """Return the program itself, told its place among the nodes.

    :param name: one of the job's nodes.
    """
    place = {
        "RANK": str(job.names.index(name)),
        "WORLD_SIZE": str(len(job.names)),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": str(job.leading["address"]),
        "MASTER_PORT": str(job.port),
    }
    return Started(job.command(name), {**place, **job.environment(name)})
