"""Results of collective operations whose latency and bandwidth are known."""

from __future__ import annotations

from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import facts_of_text
from ansible_collections.scalebench.core.plugins.module_utils.results.results import build_results
from report_data import cell, run

from collectives.definitions import operation_line
from common.report_lines import header_line

SIZES = (1024, 65536, 1 << 20, 1 << 24)
LATENCY, PER_BYTE = 300e-6, 2e-9


def facts(size, ranks, share=1.0, name="all_reduce"):
    """Return the facts of a log of 2 + 4 operations; the warm-up takes ten times as long."""
    seconds = (LATENCY + size * PER_BYTE) * share
    header = header_line({"model": "collective", "world_size": ranks, "backend": "gloo"})
    log = (
        header
        + "\n"
        + "\n".join(
            operation_line(name, number, size, ranks, seconds * (10 if number < 3 else 1), 5.0)
            for number in range(1, 7)
        )
    )
    return facts_of_text(log, "harmonic_mean", {"warmup": 2, "iterations": 4})


def results_of(
    sizes=SIZES, name="all_reduce", topologies=("2n1g", "4n1g"), cluster=(), ways=(), **changes
):
    """Return results; ``cluster``: fingerprints by node, ``ways``: what carried the messages."""
    cells, runs = [], []
    for topology in topologies:
        for size in sizes:
            factors = {"collective": name, "message_bytes": size}
            own = {"own_factors": factors, "variant": f"bz1-op{name}-bytes{size}", "unit": "MB/s"}
            of = cell(topology, benchmark="all_reduce", model="collective", **own, **changes)
            cells.append(of)
            for repeat, share in enumerate((0.98, 1.0, 1.02), 1):
                known = facts(size, of["nodes"] * of["devices_per_node"], share, name)
                log = f"logs/{of['variant']}/{topology}/{repeat}.log"
                names = list(cluster)[: of["nodes"]]
                nodes = {one: {"transport": list(ways)} for one in names}
                more = {"cell": {**of, "node_names": names}, "nodes": nodes} if names else {}
                runs.append({**run(of, repeat, 1.0), "facts": known, "log": log, **more})
    plan = {"campaign": "mine", "cells": cells, "options": {}, "nodes": dict(cluster)}
    return build_results(plan, runs)
