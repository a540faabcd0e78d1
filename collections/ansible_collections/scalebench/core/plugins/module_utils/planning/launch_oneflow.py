"""OneFlow's launcher on hosts; on nodes that share a machine, each rank directly."""

from __future__ import annotations

import json
from typing import Dict

from .launch_job import Job, Started

__all__ = ["OPTIONS", "oneflow_launch"]

OPTIONS: Dict[str, type] = {}


def oneflow_launch(job: Job, name: str) -> Started:
    """Return what starts OneFlow's ranks on a node.

    OneFlow tells machines by their IP and takes all loopback addresses for one: its launcher then
    fails or hangs. With ``NODE_SIZE=1`` and local ranks that are the global ones, nodes of one
    machine are that one machine.

    :param name: one of the job's nodes.
    """
    if len(job.names) > 1 and all(job.share_machine(job.names[0], other) for other in job.names):
        return _directly(job, name)
    argv = [
        *[job.python(name), "-m", "oneflow.distributed.launch"],
        f"--nnodes={len(job.names)}",
        f"--node_rank={job.names.index(name)}",
        f"--nproc_per_node={job.per_node}",
        f"--master_addr={job.leading['address']}",
        f"--master_port={job.port}",
        *job.program(name),
    ]
    return Started(argv, job.environment(name))


def _directly(job: Job, name: str) -> Started:
    first = job.names.index(name) * job.per_node
    ranks = [
        {
            "name": f"rank {rank}",
            "argv": job.command(name),
            "environment": {
                "MASTER_ADDR": str(job.leading["address"]),
                "MASTER_PORT": str(job.port),
                "WORLD_SIZE": str(len(job.names) * job.per_node),
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "NODE_SIZE": "1",
            },
        }
        for rank in range(first, first + job.per_node)
    ]
    argv = [*job.script(name, "start_ranks.py"), *map(json.dumps, ranks)]
    return Started(argv, job.environment(name))
