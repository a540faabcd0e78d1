#!/usr/bin/env python3
"""Measure what the waits of ranks cost their training: the share of a step.

Run ``python tests/benchmarks/waits.py [--blocks N]``. Two ranks of each trainer, on CPUs over gloo,
measure their waits in one block of steps and not in the next, in one training, so that nothing else
differs. The share is the median over neighbouring blocks, with the standard error of a median. The
steps are the smallest ones, of which the cost is the largest share. Goal: under 1 %. Exit status 1
where it is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/unit"))

from torch_trainers import FOLDER, interpreter

GOAL = 0.01
STEPS = 20  # of a block
TRAINERS = {
    "bert, size tiny": ("transformer.train_bert", "--sequence-length=32", "--batch-size=1"),
    "resnet50, images of 32": ("resnet50.train_pytorch", "--batch-size=2"),
}
DRIVER = f"""
import importlib, json, os, statistics, sys, time
from common.figures import FirstStep
from common.process import end_now
from common.pytorch_waits import PytorchWaits

blocks, end_step = [[]], PytorchWaits.end_step

def end_block(self):
    now = time.perf_counter()
    end_step(self)
    blocks[-1].append(now - self.began)
    self.began = now
    if len(blocks[-1]) == {STEPS}:
        blocks.append([])
        self.measured = self.several = len(blocks) % 2 == 1
        self.no_core = 0.0 if self.measured else None

PytorchWaits.end_step, PytorchWaits.began = end_block, time.perf_counter()
main = importlib.import_module(sys.argv.pop(1)).main
first = [FirstStep()] if main.__code__.co_argcount else []
code = main(*first)
if os.environ["RANK"] == "0":
    with open(os.environ["BLOCKS"], "w") as file:
        json.dump([statistics.median(one) for one in blocks if one], file)
end_now(code)
"""


def medians(trainer: tuple[str, ...], blocks: int) -> list[float]:
    """Return the median step of each block of the first rank, in s; every second is measured."""
    if not interpreter():
        sys.exit("no PyTorch: run playbooks/provision.yml, or set SCALEBENCH_FRAMEWORK_PYTHON")
    command = [interpreter(), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["--no-python", interpreter(), "-c", DRIVER, *trainer]
    command += ["--device=cpu", "--threads=1", f"--warmup={2 * STEPS}"]
    command += [f"--iterations={blocks * STEPS}"]
    own = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(FOLDER)}
    with tempfile.NamedTemporaryFile("r") as file:
        variables = {**os.environ, **own, "BLOCKS": file.name}
        done = subprocess.run(
            command, cwd=FOLDER, env=variables, capture_output=True, text=True, check=False
        )
        text = file.read()
    if not text:
        sys.exit(f"{' '.join(trainer)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    # The first two are the warm-up.
    return json.loads(text)[2:]


def main() -> int:
    """Print the cost for each trainer; return 1 where one misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=100, help=f"of {STEPS} steps, 10 at least")
    options = parser.parse_args()
    missed = False
    for name, trainer in TRAINERS.items():
        steps = medians(trainer, max(options.blocks, 10))
        ratios = [measured / plain - 1 for measured, plain in zip(steps[::2], steps[1::2])]
        cost = statistics.median(ratios)
        error = math.sqrt(math.pi / 2) * statistics.stdev(ratios) / math.sqrt(len(ratios))
        step = statistics.median(steps[1::2])
        print(
            f"{name}: a step of {step * 1000:.1f} ms takes {cost:+.2%} +- {error:.2%} with waits",
            flush=True,
        )
        missed = missed or cost > GOAL
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
