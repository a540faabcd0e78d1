"""A small cluster and the real benchmark files, for the tests of plan and launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options

ROOT = Path(__file__).resolve().parents[2]


def benchmarks() -> dict[str, Any]:
    """Return the benchmark files of the repository by name."""
    files = [yaml.safe_load(path.read_text()) for path in (ROOT / "benchmarks").glob("*.yml")]
    return {content["benchmark"]: content for content in files}


def gpu(index: int, machine: str = "a") -> dict[str, Any]:
    """Return one GPU of a machine."""
    uuid = f"GPU-{machine}{index}"
    return {"index": index, "name": "Tesla V100", "memory_mib": 16160, "uuid": uuid}


def node(number: int, *, gpus: int = 0, machine: str = "", **more: Any) -> dict[str, Any]:
    """Return what the plan knows of node ``number``; without ``machine`` it is its own."""
    machine = machine or f"m{number}"
    return {
        "address": f"10.11.0.{number + 1}",
        "interface": "ib0",
        "rank_port": 29500,
        "ssh_config": "/opt/ssh_config",
        "threads": 1,
        "workload_dir": "/opt/workloads",
        "sources_dir": "/opt/sources",
        "container_engine": "docker",
        "data_dir": "/data",
        "pythons": {"pytorch": "/venv/bin/python"},
        "device": "gpu" if gpus else "cpu",
        "devices": gpus or 1,
        "fingerprint": {
            "hostname": f"host{number}",
            "machine_id": machine,
            "boot_id": machine,
            "cpu_model": "AMD EPYC",
            "cores": 2,
            "gpus": [gpu(index, machine) for index in range(gpus)],
        },
        **more,
    }


def cluster(count: int, **more: Any) -> dict[str, dict[str, Any]]:
    """Return ``count`` nodes, node1 first."""
    return {f"node{number}": node(number, **more) for number in range(1, count + 1)}


def planned(
    nodes: dict[str, Any] | None = None, known: dict[str, Any] | None = None, **options: Any
) -> dict[str, Any]:
    """Return a plan by some options, of our benchmarks on four nodes where nothing else is said."""
    return plan.build(known or benchmarks(), parse_options(options), nodes or cluster(4))
