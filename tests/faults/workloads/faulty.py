#!/usr/bin/env python3
"""The real PyTorch trainer, in which one rank goes wrong once.

A stand-in for hardware and software that fail: SCALEBENCH_FAULT is `<fault>:<rank>:<iteration>`,
SCALEBENCH_FAULT_MARK a file that is made when it strikes; as long as it is there, nothing does.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

TRAINER = Path(__file__).resolve().parents[3] / "workloads/resnet50"
sys.path.insert(0, str(TRAINER))

import pytorch


def sleep(_result):
    """Hang, as in a collective whose peer is gone."""
    time.sleep(3600)


def deaf(result):
    """Hang and ignore SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep(result)


def nan(result):
    """Return a loss that is no number; the mean over all ranks is none either."""
    return result * float("nan")


def half_line(_result):
    """Stop in the middle of a line, as when the pipe to the log breaks, and end well."""
    os.write(1, b"iteration 4 epoch 0 loss 6.")
    os._exit(0)


def clock(result):
    """Set this process's wall clock forward by an hour, as a time server would the machine's."""
    real = time.time
    time.time = lambda: real() + 3600
    return result


FAULTS = {"sleep": sleep, "deaf": deaf, "nan": nan, "half_line": half_line, "clock": clock}


def arm(fault, rank, iteration, mark):
    """Have the given iteration of the given rank go wrong, unless it did before."""
    import torch_step  # noqa: PLC0415 (PyTorch is imported by the trainer alone)

    whole = torch_step.Step.__call__
    count = 0

    def step(self, images, labels):
        nonlocal count
        count += 1
        result = whole(self, images, labels)
        if count != iteration or rank != int(os.environ["RANK"]) or mark.exists():
            return result
        mark.touch()
        return FAULTS[fault](result)

    torch_step.Step.__call__ = step


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    name, of_rank, at = os.environ["SCALEBENCH_FAULT"].split(":")
    arm(name, int(of_rank), int(at), Path(os.environ["SCALEBENCH_FAULT_MARK"]))
    pytorch.end_now(pytorch.main())
