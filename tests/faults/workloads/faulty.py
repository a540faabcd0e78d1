#!/usr/bin/env python3
"""The real PyTorch trainer with an injected fault in one rank, a different one in each run.

It stands for failing hardware and software. SCALEBENCH_FAULTS lists `<fault>:<rank>:<iteration>`,
separated by spaces. A run injects the first fault that has not occurred yet, or none if all have
occurred. A fault that occurs leaves a file of its name in the folder SCALEBENCH_FAULTS_STRUCK.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "workloads"))

from resnet50 import train_pytorch


def sleep(_step):
    """Hang, like a collective whose peer has died."""
    time.sleep(3600)


def deaf(step):
    """Hang and ignore SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep(step)


def nan(step):
    """Set weights to NaN, so that this rank's loss and the mean over all ranks become NaN."""
    next(step.model.parameters()).data.fill_(float("nan"))


def half_line(_step):
    """Exit successfully in the middle of a line, as if the pipe to the log had broken."""
    os.write(1, b"iteration 4 epoch 0 loss 6.")
    os._exit(0)


def clock(_step):
    """Advance the wall clock of this process by an hour, as a time server may do."""
    real = time.time
    time.time = lambda: real() + 3600


FAULTS = {"sleep": sleep, "deaf": deaf, "nan": nan, "half_line": half_line, "clock": clock}


def arm(fault, rank, iteration, mark):
    """Inject the fault into an iteration of a rank; touch ``mark`` when it occurs."""
    from resnet50 import pytorch_training  # noqa: PLC0415 (only the trainer imports PyTorch)

    original = pytorch_training.Step.__call__
    count = 0

    def step(self, images, labels):
        nonlocal count
        count += 1
        if count == iteration and rank == int(os.environ["RANK"]):
            mark.touch()
            FAULTS[fault](self)
        return original(self, images, labels)

    pytorch_training.Step.__call__ = step


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    struck = Path(os.environ["SCALEBENCH_FAULTS_STRUCK"])
    for fault in os.environ["SCALEBENCH_FAULTS"].split():
        name, of_rank, at = fault.split(":")
        if not (struck / name).exists():
            arm(name, int(of_rank), int(at), struck / name)
            break
    train_pytorch.end_now(train_pytorch.main())
