"""Write campaigns like bench.yml, with given throughputs and without nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from written_logs import write_log

NODE = {"hostname": "h", "machine_id": "m", "cores": 2, "gpus": [], "kernel": "6.1.0"}


def write_campaign(
    folder: Path, speeds: dict[str, float], repeats: int = 5, **fingerprint: Any
) -> Path:
    """Write plan, records and logs for {topology: images/s}; return the folder.

    :param fingerprint: facts that replace those of ``NODE`` on both nodes.
    """
    cells = [_cell(topology, repeats) for topology in speeds]
    for cell, speed in zip(cells, speeds.values()):
        for repeat in range(1, repeats + 1):
            log = folder / "logs" / cell["directory"] / f"r50_b4_fp32_{repeat}.log"
            write_log(log, cell["topology"], speed=speed)
            record = {
                "schema": 1,
                "cell": cell,
                "repeat": repeat,
                "log": str(log.relative_to(folder)),
                "ending": "ok",
                "reason": "",
                "seconds": 27.1,
                "oversubscribed": False,
                "facts": {"reader": "scalebench", "unit": "images/s", "throughput": 1.0},
            }
            log.with_suffix(".run.json").write_text(json.dumps(record))
    node = {**NODE, **fingerprint}
    plan = {
        "schema": 1,
        "campaign": folder.name,
        "created": f"of {folder.name}",
        "options": {"precision": ["fp32"]},
        "controller": {"commit": "abc"},
        "cells": cells,
        "nodes": {"node1": node, "node2": node},
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    return folder


def fail_repeat(folder: Path, name: str) -> None:
    """Change the record of a repeat to that of a crashed one."""
    path = folder / name
    record = {**json.loads(path.read_text()), "ending": "crashed", "reason": "exit code 1"}
    path.write_text(json.dumps({**record, "facts": None}))


def _cell(topology: str, repeats: int) -> dict[str, Any]:
    nodes = int(topology[0])
    return {
        "benchmark": "pytorch",
        "recipe": "portable",
        "model": "r50",
        "precision": "fp32",
        "batch_size_per_device": 4,
        "data": "synthetic",
        "image_size": 32,
        "topology": topology,
        "nodes": nodes,
        "devices_per_node": 1,
        "device": "cpu",
        "warmup": 20,
        "iterations": 100,
        "repeats": repeats,
        "variant": "bz4",
        "directory": f"pytorch/bz4/{topology}",
    }
