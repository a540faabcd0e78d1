"""PyTorch's launcher: one agent a node, static rendezvous on the leading node."""

from __future__ import annotations

from typing import Dict

from .launch_job import Job, Started

__all__ = ["OPTIONS", "torchrun"]

OPTIONS: Dict[str, type] = {}


def torchrun(job: Job, name: str) -> Started:
    """Return what starts torchrun's agent and the ranks below it on a node.

    :param name: one of the job's nodes.
    """
    argv = [
        *[job.python(name), "-m", "torch.distributed.run"],
        f"--nnodes={len(job.names)}",
        f"--node-rank={job.names.index(name)}",
        f"--nproc-per-node={job.per_node}",
        f"--master-addr={job.leading['address']}",
        f"--master-port={job.port}",
        *job.program(name),
    ]
    return Started(argv, job.environment(name))
