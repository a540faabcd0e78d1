"""A cell and its recipe on some nodes, for the tests of launchers."""

from __future__ import annotations

from typing import Any

import campaign_data
from ansible_collections.scalebench.core.plugins.module_utils.planning.launch import commands

AWKWARD = ["a b", "$HOME", 'it\'s "q" `x` \\n', "*", ";", "&&", "", ":", "é"]


def job_cell(nodes: dict[str, Any], per_node: int = 1, **more: Any) -> dict[str, Any]:
    """Return a cell on all of ``nodes``."""
    return {
        "benchmark": "mine",
        "recipe": "portable",
        "framework": "mine",
        "framework_set": "pytorch",
        "framework_version": None,
        "precision": "fp32",
        "batch_size_per_device": 4,
        "image_size": 32,
        "xla": False,
        "data": "synthetic",
        "data_backend": "native",
        "mode": "train",
        "topology": f"{len(nodes)}n{per_node}g",
        "nodes": len(nodes),
        "devices_per_node": per_node,
        "device": "cpu",
        "node_names": list(nodes),
        "warmup": 20,
        "iterations": 100,
        "directory": "mine/bz4",
        **more,
    }


def launched(launcher: str, count: int = 2, per_node: int = 1, **recipe: Any) -> dict[str, Any]:
    """Return the commands of a job of ``count`` nodes, by node."""
    given = dict(recipe)
    nodes = given.pop("nodes", None) or campaign_data.cluster(count)
    made = {"framework": "mine", "launcher": launcher, "workload": "train.py", "arguments": []}
    return commands(job_cell(nodes, per_node), {**made, **given}, nodes)
