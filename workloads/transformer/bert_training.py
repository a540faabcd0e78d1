"""Pre-train BERT with PyTorch on this rank: settings, samples, step, the whole run."""

from __future__ import annotations

import gc
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from datetime import timedelta
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from common import pytorch_ranks as ranks
from common.batches import shuffled_batches
from common.job import begin_job, checksum, end_job, job_facts, run_iterations
from common.ranks import Place, keep_freed_memory
from common.report_lines import iteration_line
from transformer import bert_recipe as recipe
from transformer.bert import Bert, decayed_groups
from transformer.bert_samples import Sample, random_sample, samples_in, text_sample


def batches(
    text: bytes | None, options: Namespace, place: Place, device: torch.device
) -> Iterator[tuple]:
    """Yield `(epoch, batch, *tensors)`, the tensors as ``Bert.forward`` takes them.

    :param text: what to train on; None: one batch of random words, again and again.
    """
    length = options.sequence_length
    if text is None:
        begin = place.rank * options.batch_size
        indices = range(begin, begin + options.batch_size)
        samples = [random_sample(i, options.seed, length, options.vocabulary) for i in indices]
        batch = to_tensors(samples, device)
        while True:
            yield 0, 0, *batch
    count = samples_in(text, length)
    for epoch, number, indices in shuffled_batches(count, options, place):
        samples = [text_sample(text, i, epoch, options.seed, length) for i in indices]
        yield epoch, number, *to_tensors(samples, device)


def to_tensors(samples: list[Sample], device: torch.device) -> list[torch.Tensor]:
    """Return a tensor for each field of the samples, in the order of :class:`Sample`."""
    columns = [[getattr(sample, field.name) for sample in samples] for field in fields(Sample)]
    return [torch.tensor(column).to(device, non_blocking=True) for column in columns]


def train(options: Namespace, text: bytes | None) -> None:
    """Do all iterations of this rank.

    :param text: see :func:`batches`.
    :raises StoppedError: on a loss that is not finite, or ranks whose weights differ.
    """
    place = ranks.find_place()
    device = ranks.choose_device(options.device, place)
    ranks.check_precision(options.precision, device)
    on_gpu = device.type == "cuda"
    torch.set_num_threads(options.threads)
    if on_gpu:
        torch.cuda.set_device(device)
        ranks.use_tf32(options.precision == "tf32")
    else:
        keep_freed_memory()
    backend = ranks.join(place, device, timedelta(seconds=options.collective_timeout))
    torch.manual_seed(options.seed)
    size = recipe.SIZES[options.size]
    with torch.device("meta"):
        model = Bert(size, options.vocabulary, options.dropout)
    model = model.to_empty(device=device).train()
    model.initialise()
    torch.manual_seed(options.seed + place.rank)  # of the dropout
    autocast = ranks.autocast_dtype(options.precision, on_gpu)
    peak = options.learning_rate or recipe.RATE
    parameters = sum(weight.numel() for weight in model.parameters())
    header = {
        "model": {
            "name": "bert",
            "size": options.size,
            "parameters": parameters,
            "embedding_parameters": model.embedding_parameters(),
            **asdict(size),
            "feed_forward": size.feed_forward,
            "vocabulary": options.vocabulary,
            "sequence_length": options.sequence_length,
            "predictions": recipe.prediction_slots(options.sequence_length),
        },
        **job_facts(options, place),
        "framework": "pytorch",
        "framework_version": torch.__version__,
        "device": "gpu" if on_gpu else "cpu",
        "device_name": ranks.device_name(device),
        "autocast_dtype": autocast and str(autocast).partition(".")[2],
        **ranks.cuda_facts(device),
        "own_factors": {
            "model_size": options.size,
            "sequence_length": options.sequence_length,
            "dropout": options.dropout,
        },
        "learning_rate": peak,
        "weight_decay": recipe.WEIGHT_DECAY,
        "parameters": parameters,
        "backend": backend,
    }
    begin_job(place, header, ranks.gather(place, place.facts()))
    steps = options.warmup + options.iterations
    rate = partial(recipe.rate_at, steps=steps, peak=peak)
    step = Step(distribute(model, device), device, autocast, rate)
    gc.freeze()
    gc.enable()
    done, seconds = run_iterations(
        options,
        place,
        batches(text, options, place, device),
        step,
        line=partial(iteration_line, unit="sequences"),
        rate=peak,
        wait_for_ranks=partial(ranks.synchronise, place, device),
    )
    end = checksum(ranks.bytes_of_weights(model)), ranks.peak_memory(device)
    end_job(place, done, seconds, ranks.gather(place, end))
    ranks.leave(place)


def distribute(model: nn.Module, device: torch.device) -> nn.Module:
    """Wrap the model so that gradients are averaged over the ranks; not that of a single rank."""
    if not dist.is_initialized():
        return model
    return DistributedDataParallel(
        model,
        device_ids=[device.index] if device.type == "cuda" else None,
        gradient_as_bucket_view=True,
        static_graph=True,
    )


class Step:
    """One iteration of `model`, with its gradients averaged over all ranks.

    :param autocast: None for fp32 and tf32.
    :param rate: the learning rate of an iteration, counted from 1.
    """

    def __init__(
        self,
        model: nn.Module,
        device: torch.device,
        autocast: torch.dtype | None,
        rate: Callable[[int], float],
    ) -> None:
        self.model, self.device, self.autocast = model, device, autocast
        self.rate, self.done = rate, 0
        self.weights = list(model.parameters())
        self.optimizer = torch.optim.AdamW(
            decayed_groups(model, recipe.WEIGHT_DECAY),
            betas=recipe.BETAS,
            eps=recipe.ADAM_EPSILON,
            fused=True,
        )
        self.scaler = torch.amp.GradScaler(device.type, enabled=autocast is torch.float16)

    def __call__(self, *batch: torch.Tensor) -> torch.Tensor:
        """Return the loss, averaged over the ranks, still on the device."""
        self.done += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(self.done)
        with torch.autocast(self.device.type, self.autocast, enabled=self.autocast is not None):
            loss = self.model(*batch)
        mean, exchange = loss.detach().clone(), None
        if dist.is_initialized():
            mean /= dist.get_world_size()
            exchange = dist.all_reduce(mean, async_op=True)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.weights, recipe.LARGEST_GRADIENT)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if exchange is not None:
            exchange.wait()
        return mean

    def values(self, loss: torch.Tensor) -> dict[str, float]:
        """Wait for the device and return the loss."""
        values = {"loss": loss.item()}
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return values
