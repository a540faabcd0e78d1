"""Train ResNet-50 with PyTorch on this rank and print what each iteration took."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import time
from argparse import Namespace
from collections.abc import Iterator
from datetime import timedelta

import host_facts
import report_lines
import torch
import torch.distributed as dist
import torch_feed
import torch_settings
from rank_place import Place
from report_lines import StoppedError
from target_training import TargetTraining
from torch import nn
from torch_evaluation import Evaluation
from torch_ranks import end_with_launcher, gather, join, leave, place_of
from torch_resnet50 import ResNet50
from torch_settings import Settings
from torch_step import Step
from training_rules import header_facts, learning_rate
from whole_job import begin_job, checksum, end_job

MIB = 1 << 20


def train(
    options: Namespace,
    images: list[tuple[str, int]],
    target: TargetTraining | None = None,
    evaluated: list[tuple[str, int]] | None = None,
) -> None:
    """Do all iterations of this rank.

    :param images: `(path, label)` of real data.
    :param target: what a training with evaluations is to reach, and `evaluated` its images.
    :raises StoppedError: on a loss that is no number, or ranks whose weights differ.
    """
    end_with_launcher()
    place = place_of(os.environ)
    settings = torch_settings.choose(options, place)
    torch_settings.apply(settings, options)
    backend = join(place, settings.device, timedelta(seconds=options.collective_timeout))
    torch.manual_seed(options.seed)
    model = ResNet50(zero_init_residual=options.zero_init_residual)
    model = model.to(settings.device, memory_format=settings.layout).train()
    facts = {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "backend": backend,
    }
    announce(options, place, settings, {**facts, **(target.facts if target else {})})
    feed = make_feed(options, images, place, settings)
    evaluation = None
    if target is not None:
        evaluation = Evaluation(target, evaluated, model, options, place, settings)
    step = Step(model, settings, learning_rate(options, place.world_size))
    gc.freeze()
    gc.enable()
    done, seconds = run(options, place, settings.device, step, feed, evaluation)
    if evaluation is not None:
        evaluation.close()
    mine = checksum(bytes_of_weights(model)), peak_memory(settings.device)
    end_job(place, done, seconds, gather(place, mine))
    leave(place)


def announce(options: Namespace, place: Place, settings: Settings, facts: dict) -> None:
    """Print the header, with `facts` in it, and one line for each rank."""
    header = {
        **header_facts(options, place),
        "framework": "pytorch",
        "framework_version": torch.__version__,
        "device": "gpu" if settings.on_gpu else "cpu",
        "device_name": torch_settings.device_name(settings.device),
        "autocast_dtype": settings.autocast and str(settings.autocast).partition(".")[2],
        "tf32": options.tf32 if settings.on_gpu else None,
        "channels_last": settings.channels_last,
        "onednn": settings.onednn,
        "bucket_mib": settings.bucket_mb,
        "zero_init_residual": options.zero_init_residual,
    }
    begin_job(place, {**header, **facts}, gather(place, place.facts()))


def make_feed(
    options: Namespace, images: list[tuple[str, int]], place: Place, settings: Settings
) -> Iterator[torch_feed.Batch]:
    """Return this rank's batches."""
    layout, device = settings.layout, settings.device
    if options.data == "synthetic":
        seed = options.seed + place.rank
        return torch_feed.synthetic(options.batch_size, options.image_size, layout, device, seed)
    loader, sampler = torch_feed.folder_loader(images, options, device, place)
    return torch_feed.folder(loader, sampler, settings)


def run(
    options: Namespace,
    place: Place,
    device: torch.device,
    step: Step,
    feed: Iterator[torch_feed.Batch],
    evaluation: Evaluation | None,
) -> tuple[int, float]:
    """Do warm-up and measured iterations, print each, and evaluate after each epoch.

    :returns: how many iterations were done, and the wall time of all this in seconds.
    :raises StoppedError: on a loss that is no number; all ranks see the same mean.
    """
    samples = options.batch_size * place.world_size
    total = options.warmup + options.iterations
    batch = next(feed)
    synchronise(place, device)
    begin = before = time.perf_counter()
    for number in range(1, total + 1):
        epoch, images, labels = batch
        if evaluation is not None:
            step.set_rate(evaluation.rate(number))
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
        if evaluation is not None and evaluation.is_due(number):
            if evaluation():
                break
            before = time.perf_counter()
    return number, time.perf_counter() - begin


def synchronise(place: Place, device: torch.device) -> None:
    """Wait until all ranks and their devices are ready."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    if place.world_size > 1:
        dist.barrier()


def bytes_of_weights(model: nn.Module) -> Iterator[ctypes.Array]:
    """Give each parameter's bytes as they lie in memory, whatever its number format."""
    for parameter in model.parameters():
        weights = parameter.detach().cpu().contiguous()
        size = weights.numel() * weights.element_size()
        yield (ctypes.c_char * size).from_address(weights.data_ptr())


def peak_memory(device: torch.device) -> float:
    """Return this rank's peak in MiB: allocated on a GPU, else resident memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / MIB
    return host_facts.peak_resident_mib()
