"""Length of the packed schedule of the seeds' matrix, against its bound and the originals' order.

Computed from published throughputs, so it is the plan that is measured here, no training. The
start-up time of a run is what the public logs of the seeds' frameworks show
(wanghuancoder/PerformanceReport@66245fd: first to last time stamp, less the iterations at the
printed throughput): 15 s for NGC MXNet on one GPU, 79 to 117 s for NGC TensorFlow with XLA, 97 s
in the middle. Both ends are printed.
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
    makespan,
    waves,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.schedule_bounds import (
    device_bound,
    lower_bound,
)
from schedule_data import NODES, seed_cells, timed, wave_bound

START_UPS = (15.0, 97.0)
MIXES = 1000
# Seconds that the originals' scripts sleep after each run, by number of nodes. The documents of
# the other three have no loop over runs, so no sleep is counted for them.
SLEEPS = {"tensorflow_ngc": {1: 20, 2: 20, 4: 30}, "paddle": {1: 20, 2: 20, 4: 20}}


def sequential(repeats: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the seconds of one run after another, without and with the originals' sleeps."""
    running = makespan(waves(repeats, NODES, "none"))
    cells = [repeat["cell"] for repeat in repeats]
    sleeping = sum(SLEEPS.get(cell["benchmark"], {}).get(cell["nodes"], 0) for cell in cells)
    return running, running + sleeping


def print_matrix(start_up: float) -> None:
    """Print the schedule of all cells with five repeats each."""
    repeats = timed(seed_cells(start_up))
    planned = waves(repeats, NODES, "nodes")
    packed, bound = makespan(planned), lower_bound(repeats, len(NODES))
    by_devices, device = makespan(waves(repeats, NODES, "devices")), device_bound(repeats, NODES)
    running, slept = sequential(repeats)
    print(f"{len(repeats)} repeats in {len(planned)} waves, start-up {start_up:.0f} s")
    print(f"  packed                         {packed:8.0f} s")
    print(f"  lower bound                    {bound:8.0f} s   {packed / bound:.4f}   (goal: 1.05)")
    shortest = wave_bound(repeats, len(NODES))
    print(f"  no waves are shorter than      {shortest:8.0f} s   {packed / shortest:.4f}")
    print(
        f"  packed by devices              {by_devices:8.0f} s"
        f"   {by_devices / device:.4f} of its bound"
    )
    print(f"  one by one                     {running:8.0f} s   {running / packed:.2f} times")
    print(f"  one by one with their sleeps   {slept:8.0f} s   {slept / packed:.2f} times")


def print_mixes(start_up: float) -> None:
    """Print how far the schedules of random campaigns are from the bounds."""
    cells = seed_cells(start_up)
    ratios, small = [], []
    for seed in range(MIXES):
        draw = random.Random(seed)
        chosen = [
            {**cell, "repeats": draw.randint(1, 7)}
            for cell in draw.sample(cells, draw.randint(1, 24))
        ]
        repeats = timed(chosen)
        packed = makespan(waves(repeats, NODES, "nodes"))
        ratios.append(packed / lower_bound(repeats, len(NODES)))
        small.append(packed / wave_bound(repeats, len(NODES)))
    print(f"{MIXES} random mixes of 1-24 cells with 1-7 repeats, start-up {start_up:.0f} s")
    for name, found in (("lower bound", ratios), ("shortest waves", small)):
        print(f"  to {name:<15} median {statistics.median(found):.4f}   worst {max(found):.4f}")
    print(f"  above 1.05              {sum(ratio > 1.05 for ratio in ratios)}")


def main() -> None:
    """Print both for both ends of the start-up time."""
    for start_up in START_UPS:
        print_matrix(start_up)
        print_mixes(start_up)


if __name__ == "__main__":
    main()
