"""Compare the packed schedule of the reference efforts' matrix with its bounds and with no packing.

The times are computed from published throughputs; nothing is trained. The start-up time of a run
is taken from public logs of the same frameworks (wanghuancoder/PerformanceReport@66245fd: first to
last time stamp, minus the iterations at the printed throughput): 15 s for NGC MXNet on one GPU, 79
to 117 s for NGC TensorFlow with XLA, typically 97 s. Both 15 s and 97 s are used.
"""

from __future__ import annotations

import random
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/unit"))

from ansible_collections.scalebench.core.plugins.module_utils.planning.schedule import (
    device_bound,
    lower_bound,
    pack,
)
from schedule_data import NODES, makespan, reference_cells, timed, wave_bound

START_UPS = (15.0, 97.0)
MIXES = 1000
# Seconds that the published scripts sleep after each run, by number of nodes. The other three
# reference efforts have no script with a loop over runs, so no sleep is counted for them.
SLEEPS = {"tensorflow_ngc": {1: 20, 2: 20, 4: 30}, "paddle": {1: 20, 2: 20, 4: 20}}


def sequential(repeats: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the time (s) of all runs in sequence, without and with the published sleeps."""
    without_sleeps = makespan(pack(repeats, NODES, "none"))
    cells = [repeat["cell"] for repeat in repeats]
    sleeps = sum(SLEEPS.get(cell["benchmark"], {}).get(cell["nodes"], 0) for cell in cells)
    return without_sleeps, without_sleeps + sleeps


def print_matrix(start_up: float) -> None:
    """Print the schedule of all cells with five repeats each."""
    repeats = timed(reference_cells(start_up))
    planned = pack(repeats, NODES, "nodes")
    packed, bound = makespan(planned), lower_bound(repeats, len(NODES))
    by_devices, device = makespan(pack(repeats, NODES, "devices")), device_bound(repeats, NODES)
    running, with_sleeps = sequential(repeats)
    print(f"{len(repeats)} repeats in {len(planned)} waves, start-up {start_up:.0f} s")
    print(f"  packed                         {packed:8.0f} s")
    print(f"  lower bound                    {bound:8.0f} s   {packed / bound:.4f}   (goal: 1.05)")
    shortest = wave_bound(repeats, len(NODES))
    print(f"  bound for waves                {shortest:8.0f} s   {packed / shortest:.4f}")
    print(
        f"  packed by devices              {by_devices:8.0f} s"
        f"   {by_devices / device:.4f} of its bound"
    )
    print(f"  sequential                     {running:8.0f} s   {running / packed:.2f} x")
    print(f"  sequential with sleeps         {with_sleeps:8.0f} s   {with_sleeps / packed:.2f} x")


def print_mixes(start_up: float) -> None:
    """Print the ratios of the schedules of random campaigns to the bounds."""
    cells = reference_cells(start_up)
    ratios, to_waves = [], []
    for seed in range(MIXES):
        draw = random.Random(seed)
        chosen = [
            {**cell, "repeats": draw.randint(1, 7)}
            for cell in draw.sample(cells, draw.randint(1, 24))
        ]
        repeats = timed(chosen)
        packed = makespan(pack(repeats, NODES, "nodes"))
        ratios.append(packed / lower_bound(repeats, len(NODES)))
        to_waves.append(packed / wave_bound(repeats, len(NODES)))
    print(f"{MIXES} random mixes of 1-24 cells with 1-7 repeats, start-up {start_up:.0f} s")
    for name, values in (("lower bound", ratios), ("bound for waves", to_waves)):
        print(f"  to {name:<15} median {statistics.median(values):.4f}   worst {max(values):.4f}")
    print(f"  above 1.05              {sum(ratio > 1.05 for ratio in ratios)}")


def main() -> None:
    """Print matrix and random mixes for both start-up times."""
    for start_up in START_UPS:
        print_matrix(start_up)
        print_mixes(start_up)


if __name__ == "__main__":
    main()
