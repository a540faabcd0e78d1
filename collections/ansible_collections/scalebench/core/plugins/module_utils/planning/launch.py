"""The command that each node of a cell runs: argument list and environment, purely."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Sequence

from .seating import assign_gpus

__all__ = ["LAUNCHERS", "PLACEHOLDERS", "commands"]

# What an argument of a benchmark file may name; all come from the cell or the node.
PLACEHOLDERS = frozenset(
    (
        *("precision", "batch_size_per_device", "image_size", "warmup", "iterations", "device"),
        *("data", "data_backend", "data_dir", "xla", "topology", "nodes", "devices_per_node"),
    )
)
Command = Dict[str, Any]


def commands(
    cell: Mapping[str, Any],
    recipe: Mapping[str, Any],
    nodes: Mapping[str, Mapping[str, Any]],
) -> Dict[str, Command]:
    """Return, per node of the cell, ``{"rank", "argv", "env"}``; rank 0 is the leading node.

    :param cell: one cell of ``matrix.expand``.
    :param recipe: the recipe of its benchmark.
    :param nodes: per node name: ``address``, ``interface`` (may be empty), ``rank_port``,
        ``workload_dir``, ``data_dir``, ``threads`` (CPU threads a rank), ``pythons`` (interpreter
        by framework), ``fingerprint`` (its ``gpus``).
    :raises ValueError: a node of the cell is not among ``nodes``.
    """
    missing = [name for name in cell["node_names"] if name not in nodes]
    if missing:
        raise ValueError(f"{cell['directory']}: nothing is known of {', '.join(missing)}")
    launcher = LAUNCHERS[recipe["launcher"]]
    gpus = _gpus(cell, nodes) if cell["device"] == "gpu" else {}
    return {
        name: {
            "rank": rank,
            "argv": launcher(cell, nodes, rank) + _workload(cell, recipe, nodes[name]),
            "env": _environment(cell, recipe, nodes[name], gpus.get(name, [])),
        }
        for rank, name in enumerate(cell["node_names"])
    }


def _gpus(
    cell: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, Sequence[int]]:
    """Return the indices of the GPUs of each node: where the cell was seated, or the first ones."""
    if "node_devices" not in cell:
        return assign_gpus(cell["node_names"], cell["devices_per_node"], nodes) or {}
    return {
        name: [nodes[name]["fingerprint"]["gpus"][place]["index"] for place in places]
        for name, places in cell["node_devices"].items()
    }


def torchrun(
    cell: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], rank: int
) -> List[str]:
    """Return torchrun's own part: one agent a node, static rendezvous on the leading node."""
    leading = nodes[cell["node_names"][0]]
    python = nodes[cell["node_names"][rank]]["pythons"][cell["framework"]]
    return [
        *[python, "-m", "torch.distributed.run"],
        f"--nnodes={cell['nodes']}",
        f"--node-rank={rank}",
        f"--nproc-per-node={cell['devices_per_node']}",
        f"--master-addr={leading['address']}",
        f"--master-port={_rank_port(cell, nodes)}",
    ]


def _rank_port(cell: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the port of the rendezvous.

    torchrun's store listens on all addresses of a machine. So that repeats can run there at once,
    each node of those that share one (by ``boot_id``) has ports of its own, one for each device
    that may be a repeat's first.
    """
    leading = cell["node_names"][0]
    boot_id = nodes[leading]["fingerprint"].get("boot_id")
    sharing = [
        name
        for name in nodes
        if name == leading or (boot_id and nodes[name]["fingerprint"].get("boot_id") == boot_id)
    ]
    first = cell["node_devices"][leading][0] if "node_devices" in cell else 0
    return int(nodes[leading]["rank_port"]) + len(sharing) * first + sharing.index(leading)


LAUNCHERS: Mapping[str, Callable[..., List[str]]] = {"torchrun": torchrun}


def _workload(
    cell: Mapping[str, Any], recipe: Mapping[str, Any], node: Mapping[str, Any]
) -> List[str]:
    values = {**cell, "data_dir": node["data_dir"]}
    arguments = list(recipe["arguments"])
    for factor, extra in recipe.get("extra_arguments", {}).items():
        arguments += extra.get(cell[factor], [])
    return [
        f"{node['workload_dir']}/{recipe['workload']}",
        *(argument.format(**values) for argument in arguments),
    ]


def _environment(
    cell: Mapping[str, Any],
    recipe: Mapping[str, Any],
    node: Mapping[str, Any],
    gpus: Sequence[int],
) -> Dict[str, str]:
    environment = {"PYTHONUNBUFFERED": "1"}
    if gpus:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(str(index) for index in gpus)
        # CUDA's own order is by speed; the indices are nvidia-smi's, which is the bus's.
        environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    if cell["device"] == "cpu":
        environment["OMP_NUM_THREADS"] = str(node["threads"])
    if node["interface"]:
        # Without a name the libraries choose, and choose a container's veth.
        environment["GLOO_SOCKET_IFNAME"] = node["interface"]
        environment["NCCL_SOCKET_IFNAME"] = node["interface"]
    for key, value in recipe.get("environment", {}).items():
        environment[key] = str(value)
    return environment
