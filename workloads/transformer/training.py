"""Train a transformer on this rank: settings, sharding, the step, the whole run."""

from __future__ import annotations

import gc
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

from common import pytorch_peak
from common import pytorch_ranks as ranks
from common.figures import FirstStep, TimedLine, figures
from common.job import begin_job, end_job, job_facts, run_iterations
from common.pytorch_eager import leave_out_compiler
from common.pytorch_waits import PytorchWaits
from common.ranks import Place, keep_freed_memory
from common.report_lines import StoppedError, iteration_line


@dataclass(frozen=True)
class Method:
    """How AdamW updates the weights; the usual values are those of Touvron et al. 2023 (LLaMA).

    ``largest_gradient`` is the norm that all gradients together are cut to; None: they are not.
    ``rate_at`` gives the learning rate of a step, from 1, of so many, by the rate asked for.
    """

    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.1
    epsilon: float = 1e-8
    largest_gradient: float | None = None
    rate_at: Callable[[int, int, float], float] | None = None


@dataclass(frozen=True)
class Workload:
    """What a model brings to the training.

    ``build`` is called with the ``meta`` device as the default. The model has ``blocks``, which
    are compiled and checkpointed one by one, ``shards()``, ``initialise(seed)``, and returns the
    mean loss of a batch. ``batches`` yields `(epoch, batch, *inputs)`, this rank's share. A sample
    counts as ``units_per_sample`` of ``unit``; ``flops`` are the operations of a unit by
    convention. ``header`` is what the header states besides.
    """

    build: Callable[[], nn.Module]
    batches: Callable[[Place, torch.device], Iterator[tuple]]
    rate: float
    unit: str
    units_per_sample: int
    flops: dict[str, float]
    header: dict[str, Any]
    method: Method = Method()


def train(options: Namespace, workload: Workload, first_step: FirstStep) -> None:
    """Do all iterations of this rank.

    :raises StoppedError: on a loss that is not finite, or ranks whose weights differ.
    """
    first_step.end("import")
    # Checkpointing and sharding load it in any case.
    if not (options.compile or options.activation_checkpointing or options.sharding == "fsdp"):
        leave_out_compiler()
    place = ranks.find_place()
    device = ranks.choose_device(options.device, place)
    ranks.check_precision(options.precision, device)
    _apply(options, place, device)
    backend = ranks.join(place, device, timedelta(seconds=options.collective_timeout))
    model, drawn = build(workload, options, device)
    if is_sharded(options):
        _check_same(ranks.gather(place, drawn))
    header = _header(options, workload, place, device, backend)
    begin_job(place, header, ranks.gather(place, place.facts()))
    rate = options.learning_rate or workload.rate
    step = Step(model, options, device, rate, workload.method)
    step.waits = PytorchWaits(place, device, step.steps, measured=not is_sharded(options))
    line = TimedLine(iteration_line, first_step, workload.units_per_sample, unit=workload.unit)
    feed = workload.batches(place, device)
    gc.freeze()
    gc.enable()
    first_step.end("build")
    done, seconds = run_iterations(
        options,
        place,
        feed,
        step,
        line=line,
        rate=rate,
        wait_for_ranks=partial(ranks.synchronise, place, device),
        waits=step.waits,
    )
    memory = ranks.peak_memory(device)  # before the weights are put together for their checksum
    ends = ranks.gather(place, (ranks.checksum_of_weights(place, model), memory))
    peaks, source = _peaks(options, place, device)
    measured = None
    if place.rank == 0:
        measured = figures(
            line.seconds[options.warmup :],
            first_step.seconds,
            max(memory for _, memory in ends),
            options.batch_size * place.world_size * workload.units_per_sample,
            workload.flops,
            peaks and (sum(peaks), sum(peaks) / len(peaks)),
            source,
        )
    end_job(place, done, seconds, ends, measured, ranks.gather(place, step.waits.facts()))
    ranks.leave(place)


def _apply(options: Namespace, place: Place, device: torch.device) -> None:
    """Set what is global to the process."""
    torch.manual_seed(options.seed + place.rank)  # of what is dropped
    torch.set_num_threads(options.threads)
    if device.type == "cuda":
        torch.cuda.set_device(device)
        ranks.use_tf32(options.precision == "tf32")
    else:
        keep_freed_memory()


def build(workload: Workload, options: Namespace, device: torch.device) -> tuple[nn.Module, int]:
    """Return the model with its weights, sharded or not, and the sum of the drawn bits.

    Its weights take memory only once they are sharded, so a model may be larger than a device.
    """
    with torch.device("meta"):
        model = workload.build()
    if options.compile:
        for block in model.blocks:
            block.compile()
    if is_sharded(options):
        shard(model, options.precision, device)
    model.to_empty(device=device)
    drawn = model.initialise(options.seed)
    return model.train(), drawn


def is_sharded(options: Namespace) -> bool:
    """Return whether the weights are sharded.

    A single rank has nothing to gather, and unwrapped it is faster; a slower 1n1g would flatter
    every speed-up. But where sharded weights are gathered in another format it is sharded too:
    autocast, which keeps sums and norms in fp32, computes something else.
    """
    return options.sharding == "fsdp" and (dist.is_initialized() or options.precision == "bf16")


def _check_same(drawn: list[int]) -> None:
    """Refuse ranks that drew other weights, of which each would have a part of its own drawing.

    :raises StoppedError: they did.
    """
    others = [rank for rank, bits in enumerate(drawn) if bits != drawn[0]]
    if others:
        raise StoppedError(
            "weights_differ",
            f"the first weights of ranks {', '.join(map(str, others))} are not those of rank 0: "
            "another seed, or another kind of GPU or of PyTorch, which draw other numbers",
        )


def autocast_dtype(options: Namespace, device: torch.device) -> torch.dtype | None:
    """Return the type that autocast computes in; None without, as sharded weights are cast."""
    if is_sharded(options):
        return None
    return ranks.autocast_dtype(options.precision, device.type == "cuda")


def shard(model: nn.Module, precision: str, device: torch.device) -> None:
    """Shard what the model gathers together, and the rest of it, over all ranks (FSDP2)."""
    # Its import takes longer than PyTorch's own.
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard  # noqa: PLC0415

    if not dist.is_initialized():
        ranks.join_alone(device)
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16 if precision == "bf16" else None,
        reduce_dtype=torch.float32,
        # The tables of rotary positions stay in fp32.
        cast_forward_inputs=False,
    )
    for parts, freed in model.shards():
        fully_shard(parts, mesh=mesh, mp_policy=policy, reshard_after_forward=freed)
    fully_shard(model, mesh=mesh, mp_policy=policy)


class Step:
    """One iteration of `model`, with its gradients averaged over all ranks."""

    waits: PytorchWaits

    def __init__(
        self,
        model: nn.Module,
        options: Namespace,
        device: torch.device,
        rate: float,
        method: Method,
    ) -> None:
        self.device, self.method, self.rate = device, method, rate
        self.done, self.steps = 0, options.warmup + options.iterations
        self.several = dist.is_initialized() and dist.get_world_size() > 1
        self.model = distribute(model, options, device)
        self.weights = list(model.parameters())
        dtype = autocast_dtype(options, device)
        self.autocast = partial(torch.autocast, device.type, dtype, enabled=dtype is not None)
        self.scaler = torch.amp.GradScaler(device.type, enabled=dtype is torch.float16)
        # Scales and biases do not decay.
        decaying = {True: method.weight_decay, False: 0.0}
        groups = [
            {
                "params": [weight for weight in model.parameters() if (weight.dim() > 1) is matrix],
                "weight_decay": decay,
            }
            for matrix, decay in decaying.items()
        ]
        self.optimizer = torch.optim.AdamW(groups, rate, method.betas, method.epsilon, fused=True)

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Return the loss, averaged over the ranks, still on the device."""
        self._set_rate()
        with self.autocast():
            loss = self.model(*inputs)
        mean, exchange = loss.detach().clone(), None
        if self.several:
            mean /= dist.get_world_size()
            exchange = dist.all_reduce(mean, async_op=True)
        self.optimizer.zero_grad(set_to_none=True)
        self.waits.before_backward(loss)
        self.scaler.scale(loss).backward()
        self.waits.leave()
        if self.method.largest_gradient:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.weights, self.method.largest_gradient)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if exchange is not None:
            exchange.wait()
        return mean

    def _set_rate(self) -> None:
        """Set the learning rate of this iteration, where it is not constant."""
        self.done += 1
        if self.method.rate_at:
            for group in self.optimizer.param_groups:
                group["lr"] = self.method.rate_at(self.done, self.steps, self.rate)

    def values(self, loss: torch.Tensor) -> dict[str, float]:
        """Wait for the device and return the loss."""
        values = {"loss": loss.item()}
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        self.waits.end_step()
        return values


def distribute(model: nn.Module, options: Namespace, device: torch.device) -> nn.Module:
    """Wrap the model so that its gradients are averaged over the ranks, where they are not yet."""
    if is_sharded(options) or not dist.is_initialized():
        return model
    on_gpu = device.type == "cuda"
    return DistributedDataParallel(
        model,
        device_ids=[device.index] if on_gpu else None,
        gradient_as_bucket_view=True,
        static_graph=True,
        # The tables of positions, which every rank computes alike.
        broadcast_buffers=False,
        **ranks.bucket_size(ranks.bucket_mib(options.bucket_mb, on_gpu)),
    )


def _header(
    options: Namespace,
    workload: Workload,
    place: Place,
    device: torch.device,
    backend: str | None,
) -> dict[str, Any]:
    dtype = autocast_dtype(options, device)
    return {
        **job_facts(options, place),
        "framework": "pytorch",
        "framework_version": torch.__version__,
        "device": device.type.replace("cuda", "gpu"),
        "device_name": ranks.device_name(device),
        "autocast_dtype": dtype and str(dtype).partition(".")[2],
        **ranks.cuda_facts(device),
        "optimizer": "adamw",
        "betas": workload.method.betas,
        "weight_decay": workload.method.weight_decay,
        "learning_rate": options.learning_rate or workload.rate,
        "backend": backend,
        "units_per_sample": workload.units_per_sample,
        **workload.header,
    }


def _peaks(
    options: Namespace, place: Place, device: torch.device
) -> tuple[list[float] | None, str | None]:
    """Return the peak of every rank's device and its source, None of one that is not known.

    All ranks measure at the same time, since some may share a core.
    """
    ranks.synchronise(place, device)
    if device.type == "cuda":
        known = pytorch_peak.peak_of_gpu(ranks.device_name(device), options.precision)
        own, source = known or (None, None)
    else:
        dtype = ranks.autocast_dtype(options.precision, on_gpu=False) or torch.float32
        own, source = pytorch_peak.measured_peak(dtype), pytorch_peak.MEASURED
    peaks = ranks.gather(place, own)
    return (None if None in peaks else peaks), source
