"""PaddlePaddle's launcher, in the form of today's versions and in that of 1.8."""

from __future__ import annotations

from typing import Dict

from .launch_job import Job, Started

__all__ = ["OPTIONS", "paddle_launch"]

# node_ips: the launcher of 1.8, which is told all addresses and looks its own up among them.
OPTIONS: Dict[str, type] = {"node_ips": bool}


def paddle_launch(job: Job, name: str) -> Started:
    """Return what starts Paddle's launcher on a node.

    The rank is the node's place in the cell, which is the inventory's: nobody edits a script.
    In 1.8 rank is ``cluster_node_ips.index(node_ip)``, and GPUs are named in
    ``CUDA_VISIBLE_DEVICES`` (python/paddle/distributed/launch.py of release 1.8).

    :param name: one of the job's nodes.
    """
    address = job.nodes[name]["address"]
    argv = [job.python(name), "-m", "paddle.distributed.launch"]
    if job.options.get("node_ips"):
        argv += [
            f"--cluster_node_ips={','.join(job.nodes[node]['address'] for node in job.names)}",
            f"--node_ip={address}",
            f"--started_port={job.port}",
        ]
    else:
        argv += [
            f"--master={job.leading['address']}:{job.port}",
            f"--nnodes={len(job.names)}",
            f"--rank={job.names.index(name)}",
            f"--host={address}",
            f"--nproc_per_node={job.per_node}",
        ]
    return Started([*argv, *job.program(name)], job.environment(name))
