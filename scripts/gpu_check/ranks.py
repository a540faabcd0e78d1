"""Ranks that the trainer never starts: a group of one, or several on one device; or a squatter.

ranks.py RANK WORLD BACKEND DEVICE PORT ITERATIONS BATCH IMAGE, or ranks.py squat.
"""

from __future__ import annotations

import math
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workloads"))

import torch
import torch.distributed as dist

from common.pytorch_ranks import checksum_of_weights
from common.pytorch_waits import PytorchWaits
from common.ranks import Place
from resnet50.pytorch_training import ResNet50, Settings, Step


def train(rank: int, world: int, backend: str, kind: str, sizes: list[int]) -> None:
    """Do some steps through the trainer's own ``distribute``, and compare the weights."""
    port, iterations, batch, pixels = sizes
    device = torch.device("cuda", 0) if kind == "gpu" else torch.device("cpu")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    on_device = device if backend == "nccl" else None
    dist.init_process_group(backend, rank=rank, world_size=world, device_id=on_device)
    torch.manual_seed(1)
    settings = Settings(
        device=device, autocast=None, tf32=False, channels_last=False, onednn=False, bucket_mb=25
    )
    model = ResNet50().to(device).train()
    step = Step(model, settings, 0.01)
    place = Place(rank, world, 0, 1)
    step.waits = PytorchWaits(place, device, iterations + 1, measured=False)
    torch.manual_seed(rank)  # other images on each rank, whose weights must stay equal
    images = torch.randn(batch, 3, pixels, pixels, device=device)
    labels = torch.randint(1000, (batch,), device=device)
    loss = step.values(step(images, labels))["loss"]  # warms up
    begin = time.perf_counter()
    for _ in range(iterations):
        loss = step.values(step(images, labels))["loss"]
    rate = world * batch * iterations / (time.perf_counter() - begin)
    weights: list[str] = [""] * world
    dist.all_gather_object(weights, checksum_of_weights(place, model))
    if len(set(weights)) != 1 or not math.isfinite(loss):
        sys.exit(f"rank {rank}: loss {loss}, weights of the ranks {weights}")
    print(f"{type(step.model).__name__}, {backend}: {rate:.1f} images/s, weights equal")
    dist.destroy_process_group()


def squat() -> None:
    """Use the first GPU, or without one a core, until ended."""
    matrix = torch.randn(2048, 2048, device="cuda" if torch.cuda.is_available() else "cpu")
    print("holding", matrix.device, flush=True)
    while True:
        matrix = (matrix @ matrix).clamp(-1, 1)


if __name__ == "__main__":
    if sys.argv[1] == "squat":
        squat()
    train(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:5], [int(word) for word in sys.argv[5:]])
