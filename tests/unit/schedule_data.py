"""The matrix of the reference efforts as repeats with expected times (s), for schedule tests."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from published_data import rows

REFERENCE_DOCUMENTS = (
    "reference_000_tensorflow_ngc",
    "reference_001_tensorflow_time2train",
    "reference_002_oneflow",
    "reference_003_mxnet_ngc",
    "reference_004_paddle",
)


def offering(counts: dict[str, int]) -> dict[str, list[str]]:
    """Return the devices of nodes that have so many."""
    return {name: [f"{name}/{place}" for place in range(count)] for name, count in counts.items()}


NODES = offering({f"10.11.0.{number}": 8 for number in range(2, 6)})
# 20 warm-up and 100 measured iterations for all. That leaves out the run of
# reference effort 001 to its target (120 epochs, 148720 s), which no table repeats.
ITERATIONS = 120
# A printed dash is replaced by the 1n1g throughput scaled like another document's series: the same
# framework on nodes of the same kind, at the nearest precision and batch size.
_SCALING = {
    ("tensorflow_time2train", "amp"): ("reference_000_tensorflow_ngc", "amp_b224_dali"),
    ("mxnet_ngc", "fp32"): ("dlperf_mxnet_ngc", "fp32_b128_dali"),
    ("mxnet_ngc", "fp16"): ("dlperf_mxnet_ngc", "fp16_b256_dali"),
}


def throughputs() -> dict[str, dict[str, Any]]:
    """Return the published rows by id, each with a throughput (images/s) that is not null."""
    found = {row["id"]: dict(row) for name in REFERENCE_DOCUMENTS for row in rows(name)}
    for row in found.values():
        if row["throughput"] is None and row["topology"] != "1n1g":
            single = found[f"{row['source']}/{row['series']}/1n1g"]["throughput"]
            row["throughput"] = single * _speedup(row)
    # Of the training of 250 epochs only the accuracy is published.
    return {name: row for name, row in found.items() if row["throughput"]}


def _speedup(row: dict[str, Any]) -> float:
    source, series = _SCALING[row["benchmark"], row["precision"]]
    return next(
        other["speedup"]
        for other in rows(source)
        if (other["series"], other["topology"]) == (series, row["topology"])
    )


def reference_cells(start_up: float, repeats: int = 5) -> list[dict[str, Any]]:
    """Return one cell for each published row of the reference efforts, with expected seconds.

    A repeat takes ``start_up`` seconds, then its images (iterations x batch size x devices) at
    the published throughput.
    """
    cells = []
    for row in throughputs().values():
        images = ITERATIONS * row["batch_size_per_device"] * row["world_size"]
        cells.append(
            {
                "benchmark": row["benchmark"],
                "directory": f"{row['benchmark']}/{row['series']}/{row['topology']}",
                "name": f"r50_b{row['batch_size_per_device']}_{row['precision']}",
                "batch_size_per_device": row["batch_size_per_device"],
                "precision": row["precision"],
                "own_factors": row["own_factors"],
                "data": row["data"],
                "nodes": row["nodes"],
                "devices_per_node": row["devices_per_node"],
                "node_names": list(NODES)[: row["nodes"]],
                "repeats": repeats,
                "estimate_seconds": start_up + images / row["throughput"],
            }
        )
    return cells


def timed(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the repeats of the cells in rounds, each with its expected seconds."""
    return [{**repeat, "seconds": plan.estimate(repeat, {})} for repeat in plan.repeats(cells)]


def wave_bound(repeats: list[dict[str, Any]], count: int) -> float:
    """Return the seconds that no waves on ``count`` nodes can beat, in whatever order.

    Repeats longer than t run in waves longer than t, and there are at least as many of these as
    their nodes fill, and one for each that needs more than half of the nodes. The sum over t.
    """
    lengths = sorted({repeat["seconds"] for repeat in repeats} | {0}, reverse=True)
    seconds = 0.0
    for longer, shorter in pairwise(lengths):
        sizes = [repeat["cell"]["nodes"] for repeat in repeats if repeat["seconds"] >= longer]
        needed = max(-(-sum(sizes) // count), sum(2 * size > count for size in sizes))
        seconds += (longer - shorter) * needed
    return seconds


def makespan(planned):
    """Return the seconds from the first wave's start to the last one's end."""
    return sum(wave["seconds"] for wave in planned)
