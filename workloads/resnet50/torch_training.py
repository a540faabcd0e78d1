"""Train ResNet-50 with PyTorch on this rank and print what each iteration took."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import inspect
import math
import os
import platform
import resource
import time
from argparse import Namespace
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import report_lines
import torch
import torch.distributed as dist
import torch_feed
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch_ranks import Place, end_with_parent, gather, join, leave
from torch_resnet50 import ResNet50

MOMENTUM = 0.875
WEIGHT_DECAY = 2**-15  # 3.05e-5
LABEL_SMOOTHING = 0.1
RATE_PER_IMAGE = 0.256 / 256
MIB = 1 << 20


class StoppedError(Exception):
    """The run cannot go on; `kind` is one of `report_lines.ERROR_KINDS`."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def train(options: Namespace, images: list[tuple[str, int]]) -> None:
    """Do all iterations of this rank.

    :param images: `(path, label)` of real data.
    :raises StoppedError: on a loss that is no number, or ranks whose weights differ.
    """
    end_with_parent()
    place = Place.of(os.environ)
    device = choose_device(options.device, place)
    dtype = autocast_dtype(options, device)
    layout = torch.channels_last if use_channels_last(options, device) else torch.contiguous_format
    configure(options, device)
    backend = join(place, device, timedelta(seconds=options.collective_timeout))
    torch.manual_seed(options.seed)
    model = ResNet50(zero_init_residual=options.zero_init_residual)
    model = model.to(device, memory_format=layout).train()
    rate = options.learning_rate or RATE_PER_IMAGE * options.batch_size * place.world_size
    announce(options, place, device, model, backend=backend, dtype=dtype, layout=layout, rate=rate)
    feed = make_feed(options, images, place, device, layout)
    step = Step(distribute(model, place, device, options), device, dtype, rate)
    seconds = run(options, place, device, step, feed)
    finish(options, place, device, model, seconds)
    leave(place)


def choose_device(wanted: str, place: Place) -> torch.device:
    """Return this rank's device.

    :raises StoppedError: if GPUs are wanted and this node has too few that PyTorch can use.
    """
    found = torch.cuda.device_count() if wanted != "cpu" and torch.cuda.is_available() else 0
    if wanted == "cpu" or (wanted == "auto" and not found):
        return torch.device("cpu")
    if place.local_rank >= found:
        raise StoppedError(
            "no_device",
            f"{place.local_size} ranks on this node and {found} GPUs that PyTorch "
            f"{torch.__version__} (CUDA {torch.version.cuda}) can use",
        )
    return torch.device("cuda", place.local_rank)


def autocast_dtype(options: Namespace, device: torch.device) -> torch.dtype | None:
    """Return the type that amp computes in, None for fp32."""
    if options.precision == "fp32":
        return None
    name = options.amp_dtype or ("fp16" if device.type == "cuda" else "bf16")
    return {"fp16": torch.float16, "bf16": torch.bfloat16}[name]


def use_channels_last(options: Namespace, device: torch.device) -> bool:
    if options.channels_last is None:
        return device.type == "cuda"
    return bool(options.channels_last)


def configure(options: Namespace, device: torch.device) -> None:
    """Set what is global to PyTorch."""
    torch.set_num_threads(options.threads)
    if device.type != "cuda":
        return
    torch.cuda.set_device(device)
    torch.backends.cudnn.benchmark = True
    if hasattr(torch.backends.cuda.matmul, "fp32_precision"):  # PyTorch 2.9
        precision = "tf32" if options.tf32 else "ieee"
        torch.backends.cuda.matmul.fp32_precision = precision
        torch.backends.cudnn.conv.fp32_precision = precision
    else:
        torch.backends.cuda.matmul.allow_tf32 = options.tf32
        torch.backends.cudnn.allow_tf32 = options.tf32


def announce(
    options: Namespace,
    place: Place,
    device: torch.device,
    model: nn.Module,
    *,
    backend: str | None,
    dtype: torch.dtype | None,
    layout: torch.memory_format,
    rate: float,
) -> None:
    """Print the header and one line for each rank."""
    ranks = gather(place, place.facts())
    if place.rank != 0:
        return
    header = {
        "model": "resnet50_v1.5",
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "framework": "pytorch",
        "framework_version": torch.__version__,
        "python": platform.python_version(),
        "world_size": place.world_size,
        "nodes": place.nodes,
        "devices_per_node": place.local_size,
        "device": "gpu" if device.type == "cuda" else "cpu",
        "device_name": device_name(device),
        "backend": backend,
        "precision": options.precision,
        "autocast_dtype": None if dtype is None else str(dtype).removeprefix("torch."),
        "tf32": options.tf32 if device.type == "cuda" else None,
        "channels_last": layout is torch.channels_last,
        "batch_size_per_device": options.batch_size,
        "global_batch_size": options.batch_size * place.world_size,
        "image_size": options.image_size,
        "data": options.data,
        "warmup": options.warmup,
        "iterations": options.iterations,
        "threads_per_rank": options.threads,
        "learning_rate": rate,
        "momentum": MOMENTUM,
        "weight_decay": WEIGHT_DECAY,
        "label_smoothing": LABEL_SMOOTHING,
        "seed": options.seed,
    }
    print(report_lines.header_line(header))
    for rank in ranks:
        print(report_lines.rank_line(**rank))


def device_name(device: torch.device) -> str:
    """Return the GPU's name, or the processor's as Linux tells it."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def make_feed(
    options: Namespace,
    images: list[tuple[str, int]],
    place: Place,
    device: torch.device,
    layout: torch.memory_format,
) -> Iterator[torch_feed.Batch]:
    if options.data == "synthetic":
        seed = options.seed + place.rank
        return torch_feed.synthetic(options.batch_size, options.image_size, layout, device, seed)
    loader, sampler = torch_feed.folder_loader(images, options, device, place)
    return torch_feed.folder(loader, sampler, layout, device)


def distribute(
    model: nn.Module, place: Place, device: torch.device, options: Namespace
) -> nn.Module:
    """Wrap the model so that gradients are averaged over the ranks.

    A single rank has nobody to exchange with and stays unwrapped: a slower 1n1g would flatter every
    speed-up. Batch statistics stay local to a rank, as Horovod leaves them.
    """
    if place.world_size == 1:
        return model
    parameters = inspect.signature(DistributedDataParallel).parameters
    local = "forward_sync_buffers" if "forward_sync_buffers" in parameters else "broadcast_buffers"
    return DistributedDataParallel(
        model,
        device_ids=[device.index] if device.type == "cuda" else None,
        gradient_as_bucket_view=True,
        static_graph=True,
        bucket_cap_mb=options.bucket_mb,
        **{local: False},
    )


class Step:
    """One training step: forward, backward, exchange, update."""

    def __init__(
        self, model: nn.Module, device: torch.device, dtype: torch.dtype | None, rate: float
    ) -> None:
        self.model, self.device, self.dtype = model, device, dtype
        self.criterion = nn.CrossEntropyLoss(label_smoothing=LABEL_SMOOTHING)
        self.optimizer = torch.optim.SGD(
            model.parameters(), rate, MOMENTUM, weight_decay=WEIGHT_DECAY, fused=True
        )
        self.scaler = torch.amp.GradScaler(device.type, enabled=dtype is torch.float16)

    def __call__(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss, averaged over the ranks, still on the device."""
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype is not None):
            loss = self.criterion(self.model(images), labels)
        mean, exchange = loss.detach().clone(), None
        if isinstance(self.model, DistributedDataParallel):
            mean /= dist.get_world_size()
            exchange = dist.all_reduce(mean, async_op=True)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if exchange is not None:
            exchange.wait()
        return mean


def run(
    options: Namespace,
    place: Place,
    device: torch.device,
    step: Step,
    feed: Iterator[torch_feed.Batch],
) -> float:
    """Do warm-up and measured iterations, print each; return their wall time in seconds.

    :raises StoppedError: on a loss that is no number; all ranks see the same mean.
    """
    samples = options.batch_size * place.world_size
    total = options.warmup + options.iterations
    batch = next(feed)
    synchronise(place, device)
    begin = before = time.perf_counter()
    for number in range(1, total + 1):
        epoch, images, labels = batch
        loss_on_device = step(images, labels)
        if number < total:
            batch = next(feed)  # while a GPU still computes
        loss = loss_on_device.item()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        now = time.perf_counter()
        if place.rank == 0:
            print(
                report_lines.iteration_line(
                    number,
                    epoch=epoch,
                    loss=loss,
                    samples=samples,
                    seconds=now - before,
                    time=time.time(),
                )
            )
        if not math.isfinite(loss):
            raise StoppedError("nan_loss", f"the loss of iteration {number} is {loss}")
        before = now
    return before - begin


def synchronise(place: Place, device: torch.device) -> None:
    """Wait until all ranks and their devices are ready."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    if place.world_size > 1:
        dist.barrier()


def finish(
    options: Namespace, place: Place, device: torch.device, model: nn.Module, seconds: float
) -> None:
    """Compare the weights of all ranks and print the last line.

    :raises StoppedError: if they differ.
    """
    ends = gather(place, (weights_checksum(model), peak_memory(device)))
    checksums = [checksum for checksum, _ in ends]
    memory = {name: max(peak[name] for _, peak in ends) for name in ends[0][1]}
    equal = len(set(checksums)) == 1
    if place.rank == 0:
        total = options.warmup + options.iterations
        print(
            report_lines.end_line(
                total, seconds, weights_checksum=checksums[0], weights_equal=equal, **memory
            )
        )
    if not equal:
        raise StoppedError("weights_differ", f"weights by rank: {', '.join(checksums)}")


def weights_checksum(model: nn.Module) -> str:
    """Return the first 16 digits of SHA-256 over all parameters' bytes."""
    digest = hashlib.sha256()
    for parameter in model.parameters():
        weights = parameter.detach().cpu().contiguous()
        size = weights.numel() * weights.element_size()
        digest.update((ctypes.c_char * size).from_address(weights.data_ptr()))
    return digest.hexdigest()[:16]


def peak_memory(device: torch.device) -> dict[str, float]:
    """Return the peak in MiB: allocated and reserved on a GPU, else resident memory."""
    if device.type == "cuda":
        return {
            "peak_memory_mib": torch.cuda.max_memory_allocated(device) / MIB,
            "peak_memory_reserved_mib": torch.cuda.max_memory_reserved(device) / MIB,
        }
    return {"peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
