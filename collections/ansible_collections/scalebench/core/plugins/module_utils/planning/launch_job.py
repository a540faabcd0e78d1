"""The job of a cell, as launchers need it: its nodes with their program and environment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from ..records.plans import Cell, Node, Nodes
from ..stacks.pci import BEFORE_AMPERE
from . import nccl
from .placeholders import values_for
from .recipes import matching
from .seating import assign_gpus, data_workers

__all__ = ["Job", "Started"]


class Started(NamedTuple):
    """What module training_run starts on one node."""

    argv: List[str]
    environment: Dict[str, str]


@dataclass(frozen=True)
class Job:
    """A cell with its recipe (of its framework version) on its nodes.

    What would ask every node for each of them is asked once, so a plan grows with the nodes and
    not with their square.
    """

    cell: Cell
    recipe: Mapping[str, Any]
    nodes: Nodes

    @property
    def names(self) -> Sequence[str]:
        """Return the cell's nodes; the first leads."""
        return self.cell["node_names"]

    @property
    def leading(self) -> Node:
        """Return what is known of the leading node."""
        return self.nodes[self.names[0]]

    @property
    def per_node(self) -> int:
        """Return how many ranks run on each node."""
        return int(self.cell["devices_per_node"])

    @property
    def options(self) -> Mapping[str, Any]:
        """Return the recipe's data for its launcher."""
        options: Mapping[str, Any] = self.recipe.get("launcher_options", {})
        return options

    @cached_property
    def port(self) -> int:
        """Return the port of the rendezvous on the leading node.

        Some launchers listen on all addresses of a machine. For repeats that run there at once,
        nodes that share a machine (by ``boot_id``) have different ports, one for each device that
        may be the first of a repeat.
        """
        leading = self.names[0]
        sharing = [name for name in self.nodes if self.share_machine(name, leading)]
        first = self.cell["node_devices"][leading][0] if "node_devices" in self.cell else 0
        return int(self.leading["rank_port"]) + len(sharing) * first + sharing.index(leading)

    def share_machine(self, first: str, second: str) -> bool:
        """Return whether two nodes run under one kernel."""
        ids = [self.nodes[name]["fingerprint"].get("boot_id") for name in (first, second)]
        return first == second or bool(ids[0] and ids[0] == ids[1])

    def python(self, name: str) -> str:
        """Return the interpreter that runs the framework on a node; a container has its own."""
        chosen = self.cell["framework_set"]
        return "python3" if chosen is None else str(self.nodes[name]["pythons"][chosen])

    def script(self, name: str, file: str) -> List[str]:
        """Return the words that run one of the programs in ``workloads/launch`` on a node."""
        return [self.python(name), f"{self.nodes[name]['workload_dir']}/launch/{file}"]

    def program(self, name: str) -> List[str]:
        """Return the words after the interpreter's of what each rank runs on a node."""
        values = self._values(name)
        arguments = list(self.recipe["arguments"])
        for addition in matching(self.recipe.get("additions", []), self.cell):
            arguments += addition.get("arguments", [])
        words = [word.format(**values) for word in (*self.recipe.get("program", ()), *arguments)]
        if "program" in self.recipe:
            return words
        return [f"{self.nodes[name]['workload_dir']}/{self.recipe['workload']}", *words]

    def command(self, name: str) -> List[str]:
        """Return the whole command of a rank on a node."""
        words = self.program(name)
        return words if "program" in self.recipe else [self.python(name), *words]

    def environment(self, name: str) -> Dict[str, str]:
        """Return the environment of the ranks on a node."""
        node = self.nodes[name]
        environment = {"PYTHONUNBUFFERED": "1"}
        gpus = self._gpus(name)
        if gpus:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(str(index) for index in gpus)
            # CUDA orders by speed, nvidia-smi, whose indices these are, by PCI bus.
            environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
            if (
                self.cell["precision"] == "fp32"
                and {*node.get("architectures", ())} - BEFORE_AMPERE
            ):
                # Else most frameworks compute fp32 in TF32, which is a precision of its own here.
                environment["NVIDIA_TF32_OVERRIDE"] = "0"
        if self.cell["device"] == "cpu":
            environment["OMP_NUM_THREADS"] = str(node["threads"])
        if node["interface"] and "/" not in node["interface"]:
            # Without a name the libraries may choose the veth of a container.
            environment["GLOO_SOCKET_IFNAME"] = node["interface"]
        environment.update(nccl.environment(self.cell, self.recipe, node))
        values = self._values(name)
        parts = [self.recipe, *matching(self.recipe.get("additions", []), self.cell)]
        for part in parts:
            for key, value in part.get("environment", {}).items():
                environment[key] = value.format(**values)
        return environment

    def _values(self, name: str) -> Dict[str, Any]:
        more = {
            "python": self.python(name),
            "rank_port": self.port,
            "gpu_indices": ",".join(str(index) for index in self._gpus(name)),
            "workers": self._workers[name],
            "node_addresses": self._addresses,
            "node_endpoints": self._endpoints,
        }
        return values_for(self.cell, self.nodes, name, self.recipe, more)

    @cached_property
    def _workers(self) -> Mapping[str, int]:
        return data_workers(self.cell, self.nodes)

    @cached_property
    def _addresses(self) -> str:
        return ",".join(self.nodes[name]["address"] for name in self.names)

    @cached_property
    def _endpoints(self) -> str:
        return ",".join(f"{self.nodes[name]['address']}:{self.port}" for name in self.names)

    def _gpus(self, name: str) -> Sequence[int]:
        """Return the indices of a node's GPUs that the cell has; none where it has none."""
        return self._all_gpus.get(name, []) if self.cell["device"] == "gpu" else []

    @cached_property
    def _all_gpus(self) -> Mapping[str, Sequence[int]]:
        """Return the GPUs' indices by node: where the cell was seated, or the first ones."""
        if "node_devices" not in self.cell:
            return assign_gpus(self.names, self.per_node, self.nodes) or {}
        return {
            name: [self.nodes[name]["fingerprint"]["gpus"][place]["index"] for place in places]
            for name, places in self.cell["node_devices"].items()
        }
