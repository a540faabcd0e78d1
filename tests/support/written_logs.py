"""Write logs in the format of the project's PyTorch trainer."""

from __future__ import annotations

import json
import random
from pathlib import Path


def write_log(
    path: Path,
    topology: str = "1n1g",
    *,
    batch: int = 4,
    precision: str = "fp32",
    speed: float = 24.0,
    iterations: int = 120,
    **header: object,
) -> list[float]:
    """Write one log; return its printed throughputs (images/s over all devices)."""
    nodes, devices = (int(part) for part in topology[:-1].split("n"))
    ranks = nodes * devices
    facts = {
        "format": 1,
        "model": "resnet50_v1.5",
        "framework": "pytorch",
        "world_size": ranks,
        "nodes": nodes,
        "devices_per_node": devices,
        "precision": precision,
        "batch_size_per_device": batch,
        "global_batch_size": batch * ranks,
        "image_size": 32,
        "data": "synthetic",
        **header,
    }
    # A fixed seed: a mean that ends on exactly half a unit could be rounded up or down by chance.
    seed = "/".join(part for part in path.parts if not part.startswith(("pytest-", "popen-")))
    generator = random.Random(seed)
    clock = 1763690000.0
    lines = [f"[scalebench] header {json.dumps(facts)}"]
    speeds = []
    for step in range(1, iterations + 1):
        speeds.append(round(speed * generator.uniform(0.95, 1.05), 2))
        seconds = batch * ranks / speeds[-1]
        clock += seconds
        lines.append(
            f"iteration {step} epoch 0 loss {7 - step / 100:.6f} throughput {speeds[-1]:.2f}"
            f" images/s step_time {seconds:.6f} s time {clock:.6f}"
        )
    lines.append(f'[scalebench] end {{"iterations":{iterations},"seconds":60.0}}')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return speeds


def write_tree(
    root: Path, topologies: dict[str, float], repeats: int = 3, **options: object
) -> dict[str, list[list[float]]]:
    """Write ``root/<topology>/r50_b<batch>_<precision>_<i>.log``; return their throughputs."""
    precision = options.get("precision", "fp32")
    batch = options.get("batch", 4)
    return {
        topology: [
            write_log(
                root / topology / f"r50_b{batch}_{precision}_{index}.log",
                topology,
                speed=speed,
                **options,
            )
            for index in range(1, repeats + 1)
        ]
        for topology, speed in topologies.items()
    }
