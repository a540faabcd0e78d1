"""MXNet's own distribution, kvstore ``dist_sync``: a scheduler, servers and workers."""

from __future__ import annotations

import json
from typing import Any, Dict, List

from .launch_job import Job, Started

__all__ = ["OPTIONS", "kvstore"]

OPTIONS: Dict[str, type] = {}


def kvstore(job: Job, name: str) -> Started:
    """Return what starts the leading node's scheduler, a server, and a worker for each device.

    Scheduler and server are MXNet itself: to import it in that role is to be it, until all workers
    are done. Names and meaning of ``DMLC_*``: MXNet, "Distributed Training in MXNet".

    :param name: one of the job's nodes.
    """
    if len(job.names) * job.per_node == 1:
        # It has nobody to exchange with: a slower 1n1g would flatter every speed-up.
        return Started(job.command(name), job.environment(name))
    node = job.nodes[name]
    common = {
        "DMLC_PS_ROOT_URI": str(job.leading["address"]),
        "DMLC_PS_ROOT_PORT": str(job.port),
        "DMLC_NUM_WORKER": str(len(job.names) * job.per_node),
        "DMLC_NUM_SERVER": str(len(job.names)),
        "DMLC_NODE_HOST": str(node["address"]),
    }
    if node["interface"] and "/" not in node["interface"]:
        common["DMLC_INTERFACE"] = node["interface"]
    serve = [job.python(name), "-c", "import mxnet"]
    roles = ["scheduler"] if name == job.names[0] else []
    ranks: List[Dict[str, Any]] = [
        {"name": role, "argv": serve, "environment": {"DMLC_ROLE": role}, "serves": True}
        for role in [*roles, "server"]
    ]
    first = job.names.index(name) * job.per_node
    for place in range(job.per_node):
        more = {
            "DMLC_ROLE": "worker",
            "LOCAL_RANK": str(place),
            "LOCAL_WORLD_SIZE": str(job.per_node),
            # The kvstore numbers workers as they connect; this one says where they are.
            "RANK": str(first + place),
            "WORLD_SIZE": common["DMLC_NUM_WORKER"],
        }
        worker = {"name": f"worker {first + place}", "argv": job.command(name), "environment": more}
        ranks.append(worker)
    argv = [*job.script(name, "start_ranks.py"), *map(json.dumps, ranks)]
    return Started(argv, {**common, **job.environment(name)})
