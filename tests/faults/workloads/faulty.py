#!/usr/bin/env python3
"""The real PyTorch trainer, in which one rank goes wrong, each time in another way.

A stand-in for hardware and software that fail: SCALEBENCH_FAULTS are `<fault>:<rank>:<iteration>`,
separated by blanks. A run has the first that has not struck yet, and no fault once all have;
in the folder SCALEBENCH_FAULTS_STRUCK a fault that strikes leaves a file of its name.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

TRAINER = Path(__file__).resolve().parents[3] / "workloads/resnet50"
sys.path.insert(0, str(TRAINER))

import train_pytorch


def sleep(_step):
    """Hang, as in a collective whose peer is gone."""
    time.sleep(3600)


def deaf(step):
    """Hang and ignore SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep(step)


def nan(step):
    """Spoil a weight: this rank's loss is no number, and so is the mean over all ranks."""
    next(step.model.parameters()).data.fill_(float("nan"))


def half_line(_step):
    """Stop in the middle of a line, as when the pipe to the log breaks, and end well."""
    os.write(1, b"iteration 4 epoch 0 loss 6.")
    os._exit(0)


def clock(_step):
    """Set this process's wall clock forward by an hour, as a time server would the machine's."""
    real = time.time
    time.time = lambda: real() + 3600


FAULTS = {"sleep": sleep, "deaf": deaf, "nan": nan, "half_line": half_line, "clock": clock}


def arm(fault, rank, iteration, mark):
    """Have the given iteration of the given rank go wrong."""
    import torch_step  # noqa: PLC0415 (PyTorch is imported by the trainer alone)

    whole = torch_step.Step.__call__
    count = 0

    def step(self, images, labels):
        nonlocal count
        count += 1
        if count == iteration and rank == int(os.environ["RANK"]):
            mark.touch()
            FAULTS[fault](self)
        return whole(self, images, labels)

    torch_step.Step.__call__ = step


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    struck = Path(os.environ["SCALEBENCH_FAULTS_STRUCK"])
    for fault in os.environ["SCALEBENCH_FAULTS"].split():
        name, of_rank, at = fault.split(":")
        if not (struck / name).exists():
            arm(name, int(of_rank), int(at), struck / name)
            break
    train_pytorch.end_now(train_pytorch.main())
