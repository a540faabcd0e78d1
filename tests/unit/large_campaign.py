"""A campaign of many nodes, planned and recorded by the code of a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.preflight.judge import judge
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from ansible_collections.scalebench.core.plugins.module_utils.running.record import record
from ansible_collections.scalebench.core.plugins.plugin_utils.measured import Measured
from campaign_data import benchmarks, cluster
from telemetry_data import telemetry

PORT = {"rate": "100 Gb/sec (4X EDR)", "state": "4: ACTIVE", "link_layer": "InfiniBand"}
_BENCHMARKS = benchmarks()
SESSION = {"campaign": "large", "session": "s", "recorded": "2026-11-22T06:00:00+00:00"}


def planned(count: int, **options: Any) -> dict[str, Any]:
    """Return the plan of a campaign on ``count`` nodes of 8 GPUs, written as plan.json holds it."""
    nodes = cluster(count, gpus=8)
    for number, node in enumerate(nodes.values()):
        node["pythons"] = dict.fromkeys(("pytorch", "tensorflow", "mxnet", "paddle", "oneflow"))
        node["pythons"] = {name: f"/opt/{name}/bin/python" for name in node["pythons"]}
        node["fingerprint"].update(
            os="Debian GNU/Linux 12",
            kernel="6.1.0-30-amd64",
            memory_mib=385024 + number % 3,
            load=0.01 * (number % 40),
            interfaces={"ib0": {"mtu": 2044, "speed_mbit": 100000}},
            infiniband={"mlx5_0": {"ports": {"1": PORT}}},
            gpus=[{**gpu, "driver": "580.95.05"} for gpu in node["fingerprint"]["gpus"]],
        )
    given = {"precision": "fp32", "batch_size_per_device": 128, "repeats": 3, **options}
    made = plan.build(_BENCHMARKS, parse_options(given), nodes)
    fingerprints = {name: node["fingerprint"] for name, node in nodes.items()}
    return {**made, "campaign": "large", "nodes": fingerprints}


def measured(count: int) -> Measured:
    """Return a campaign on ``count`` nodes, half of them disturbed, one repeat of which failed."""
    made = planned(count, topology=f"1n1g,1n8g,{count // 2}n8g,{count}n8g")
    commands = {cell["directory"]: cell["commands"] for cell in made["cells"]}
    runs = [
        _recorded(repeat, commands[repeat["cell"]["directory"]], made["nodes"])
        for repeat in plan.repeats(made["cells"])
    ]
    results = build_results(made, runs)
    asked = {
        name: {
            **{"fingerprint": {**node, "disk_free_mib": 90000}, "memlock_kib": 64, "xid": None},
            **{"clock_skew": [0.0, 0.1], "peers": {"node1": "Connection refused"}},
        }
        for name, node in made["nodes"].items()
    }
    results["preflight"] = judge(asked)
    return Measured(Path("nowhere"), made, runs, results)


def _recorded(
    repeat: dict[str, Any], commands: dict[str, Any], nodes: dict[str, Any]
) -> dict[str, Any]:
    cell = repeat["cell"]
    failed = cell["nodes"] > 1 and repeat["repeat"] == 3
    runs = {
        name: {
            **commands[name],
            **{"started": "2026-11-22T06:00:00+00:00", "node": name, "seconds": 60.0, "strays": 1},
            **{"ending": "ok", "reason": "", "exit_code": 0, "ended": 0, "device_users": []},
            "telemetry": telemetry(busy=51.0 + 6 * (number % 2)),
        }
        for number, name in enumerate(cell["node_names"])
    }
    if failed:
        for run in runs.values():
            run.update(ending="crashed", reason="exit code 1", exit_code=1)
    throughput = 350.0 * cell["nodes"] * cell["devices_per_node"] ** 0.9 + repeat["repeat"]
    facts = {
        **{"throughput": throughput, "unit": "images/s", "reader": "scalebench", "count": 100},
        "strategy": {"name": "mean_after_warmup", "parameters": {"warmup": 20, "iterations": 100}},
        "identity": {},
        "ending": {"kind": "complete", "detail": ""},
        "wall_clock_throughput": throughput * 0.99,
    }
    machines = {name: {"boot_id": nodes[name]["boot_id"]} for name in cell["node_names"]}
    timed = {**repeat, "machines": machines, "attempt": 1, "kind": "measured", "why": ""}
    return record(SESSION, {**timed, "packed_with": [], "shares_machine": False}, runs, facts)
