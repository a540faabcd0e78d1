"""Two campaigns with given speeds, for the tests of what compares them."""

from __future__ import annotations

import random
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import campaign

NODE = {
    "node": "node1",
    "hostname": "h",
    "machine_id": "m",
    "kernel": "6.1.0",
    "cpu_governor": "performance",
    "load": 0.1,
    "gpus": [{"index": 0, "driver": "440.33"}, {"index": 1, "driver": "440.33"}],
    "frameworks": {"pytorch": {"packages": {"torch": "2.13.0"}, "nccl": None}},
}


def speeds(centre: float, seed: int, repeats: int = 5, noise: float = 0.005) -> list[float]:
    """Return repeats with normal noise."""
    chance = random.Random(seed)
    return [round(centre * (1 + chance.gauss(0, noise)), 2) for _ in range(repeats)]


def results(of: dict[str, list[float]], name: str = "mine", **plan: Any) -> dict[str, Any]:
    """Return results of {topology: speeds}; ``plan`` overrides nodes, options and so on."""
    made, runs = campaign(of, warmup=20, iterations=100, device="gpu")
    more = {"campaign": name, "created": f"of {name}", "sha256": "1", **plan}
    return build_results({**made, **more}, runs)
