"""The command that each node of a cell runs, and the table of launchers that start its ranks.

Open MPI's launchers are in ``launch_mpirun``, all others here.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from ..records.node_names import folded
from ..records.plans import Cell, Command, Nodes
from ..telemetry.nccl import with_trace
from . import launch_mpirun
from .container import TRACES, container_name, exec_command, srun_command
from .launch_job import Job, Started
from .launch_mpirun import by_srun

__all__ = ["LAUNCHERS", "Launcher", "commands"]


def per_node(job: Job, name: str) -> Started:
    """Return the program itself, one process on each node, with its place in the environment.

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


def torchrun(job: Job, name: str) -> Started:
    """Return what starts torchrun's agent on a node, with a static rendezvous on the leading one.

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


def torch_launch(job: Job, name: str) -> Started:
    """Return what starts PyTorch's launcher of before 1.9, or a script with its options.

    Options: torch/distributed/launch.py of PyTorch 1.5.0, and multiproc.py of
    NVIDIA/DeepLearningExamples 5cc03caa, PyTorch/Classification/ConvNets.

    :param name: one of the job's nodes.
    """
    script = job.options.get("script")
    argv = [
        *[job.python(name), *([script] if script else ["-m", "torch.distributed.launch"])],
        f"--nnodes={len(job.names)}",
        f"--node_rank={job.names.index(name)}",
        f"--nproc_per_node={job.per_node}",
        f"--master_addr={job.leading['address']}",
        f"--master_port={job.port}",
        *job.program(name),
    ]
    return Started(argv, job.environment(name))


def paddle_launch(job: Job, name: str) -> Started:
    """Return what starts Paddle's launcher on a node, in its form of today or that of 1.8.

    The rank is the node's place in the cell, which follows the inventory.
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


def oneflow_launch(job: Job, name: str) -> Started:
    """Return what starts OneFlow's launcher on a node, or each rank on nodes of one machine.

    OneFlow tells machines by their IP and takes all loopback addresses for one: its launcher then
    fails or hangs. With ``NODE_SIZE=1`` and local ranks that are the global ones, nodes of one
    machine are that one machine.

    :param name: one of the job's nodes.
    """
    if len(job.names) > 1 and all(job.share_machine(job.names[0], other) for other in job.names):
        return _oneflow_ranks(job, name)
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


def _oneflow_ranks(job: Job, name: str) -> Started:
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


def kvstore(job: Job, name: str) -> Started:
    """Return what starts MXNet's kvstore ``dist_sync``: a scheduler, servers and workers.

    The leading node has the scheduler, each node a server, and each device a worker. Scheduler and
    server are MXNet itself: importing it in that role runs it until all workers are done. Names and
    meaning of ``DMLC_*``: MXNet, "Distributed Training in MXNet".

    :param name: one of the job's nodes.
    """
    if len(job.names) * job.per_node == 1:
        # A single rank exchanges nothing; a slower 1n1g would make every speed-up too large.
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
            # The kvstore numbers workers as they connect, this one by their place.
            "RANK": str(first + place),
            "WORLD_SIZE": common["DMLC_NUM_WORKER"],
        }
        worker = {"name": f"worker {first + place}", "argv": job.command(name), "environment": more}
        ranks.append(worker)
    argv = [*job.script(name, "start_ranks.py"), *map(json.dumps, ranks)]
    return Started(argv, {**common, **job.environment(name)})


class Launcher(NamedTuple):
    """How ranks are started on one of a job's nodes, and the data that a recipe may give for it.

    ``over_ssh``: the leading node's launcher starts those of the other nodes by ssh. ``by_srun``
    stands for it on nodes of Slurm that have a process manager of MPI systems.
    """

    start: Callable[[Job, str], Started]
    options: Mapping[str, type] = {}
    over_ssh: bool = False
    by_srun: Optional[Callable[[Job, str], Started]] = None


LAUNCHERS: Mapping[str, Launcher] = {
    # arguments: more words for the launcher.
    "horovodrun": Launcher(launch_mpirun.horovodrun, {"arguments": list}, True, by_srun),
    "kvstore": Launcher(kvstore),
    "mpirun": Launcher(launch_mpirun.mpirun, {"arguments": list}, True, by_srun),
    "oneflow_launch": Launcher(oneflow_launch),
    # node_ips: the launcher of 1.8, which gets all addresses and looks its own up among them.
    "paddle_launch": Launcher(paddle_launch, {"node_ips": bool}),
    "per_node": Launcher(per_node),
    # script: it stands for torch.distributed.launch.
    "torch_launch": Launcher(torch_launch, {"script": str}),
    "torchrun": Launcher(torchrun),
}


def commands(cell: Cell, recipe: Mapping[str, Any], nodes: Nodes) -> Dict[str, Command]:
    """Return, per node of the cell, ``{"rank", "argv", "env"}``; rank 0 is the leading node.

    :param cell: one cell of ``matrix.expand``.
    :param recipe: what ``recipes.recipe_of`` returned for it.
    :raises ValueError: a node of the cell is not among ``nodes``, a word of a command has more than
        one line, or what its launcher cannot do.
    """
    missing = [name for name in cell["node_names"] if name not in nodes]
    if missing:
        raise ValueError(f"{cell['directory']}: nothing is known of {folded(missing)}")
    job = Job(cell, recipe, nodes)
    launcher = LAUNCHERS[recipe["launcher"]]
    has_mpi = (job.leading.get("slurm") or {}).get("mpi")
    start = launcher.by_srun if launcher.by_srun and has_mpi else launcher.start
    made: Dict[str, Command] = {}
    for rank, name in enumerate(cell["node_names"]):
        started = start(job, name)
        for word in (*started.argv, *started.environment.values()):
            _check_word(word, f"{cell['directory']}: the command on {name}")
        argv, environment = started
        if "container" in recipe:
            environment = with_trace(environment, TRACES)
            if nodes[name].get("slurm"):
                environment = {**recipe["container"].get("environment", {}), **environment}
                argv = srun_command(argv, environment, nodes[name], recipe["container"])
            else:
                variant = recipe["container"].get("variant", "")
                inside = container_name(cell["benchmark"], cell["recipe"], variant)
                argv = exec_command(argv, environment, nodes[name], inside)
        made[name] = {"rank": rank, "argv": argv, "env": environment}
    return made


def _check_word(word: str, where: str) -> None:
    """Refuse what no launcher carries to its ranks unchanged; all else needs no quoting here."""
    if any(character in word for character in "\n\r\0"):
        raise ValueError(f"{where}: {word!r} has more than one line")
