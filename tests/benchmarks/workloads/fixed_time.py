#!/usr/bin/env python3
"""Stand-in for a trainer whose ranks take a fixed time: print a trainer's lines, and wait.

What a repeat takes beyond this time is the orchestration's; the throughputs are meaningless. Each
sample of a batch beyond the first takes 300 MiB.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

began = time.monotonic()
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "workloads"))

from common import report_lines


def main():
    """Print header, iterations and end; end as many seconds after the start as is asked for."""
    seconds, ranks, iterations = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    batch = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    facts = {"model": "fixed_time", "world_size": ranks, "precision": "fp32"}
    print(report_lines.header_line({**facts, "batch_size_per_device": batch}))
    # Written, or it takes no memory.
    held = b"1" * ((batch - 1) * (300 << 20))
    for number in range(1, iterations + 1):
        line = {"epoch": 0, "loss": 1.0, "samples": ranks * batch, "seconds": seconds / iterations}
        print(report_lines.iteration_line(number, time=number * line["seconds"], **line))
    print(report_lines.end_line(iterations, seconds, 1.0, "", True), flush=True)
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    del held


if __name__ == "__main__":
    main()
