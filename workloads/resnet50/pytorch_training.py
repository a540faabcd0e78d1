"""Train ResNet-50 with PyTorch on this rank: settings, model, step, evaluation, the whole run."""

from __future__ import annotations

import gc
import inspect
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from common import pytorch_ranks as ranks
from common.job import begin_job, end_job, run_iterations
from common.pytorch_eager import leave_out_compiler
from common.pytorch_waits import PytorchWaits
from common.ranks import Place, keep_freed_memory
from common.report_lines import StoppedError, iteration_line
from common.target_training import EpochEvaluation, TargetTraining
from resnet50.layers import CLASSES, FEATURES, STEM_FILTERS, Block, blocks
from resnet50.pytorch_data import Images, evaluation_loader, make_feed, normalised
from resnet50.recipe import LABEL_SMOOTHING, MOMENTUM, WEIGHT_DECAY, header_facts, learning_rate

SMALL_BATCH = 16  # images; from here on PyTorch's own CPU convolution turns to NNPACK and is slow
SMALL_PIXELS = 16 * 32 * 32  # of a batch; above, oneDNN's reordering of weights pays off


@dataclass(frozen=True)
class Settings:
    """The choices for one rank; `autocast` is None for fp32 and tf32."""

    device: torch.device
    autocast: torch.dtype | None
    tf32: bool
    channels_last: bool
    onednn: bool
    bucket_mb: int | None

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    @property
    def layout(self) -> torch.memory_format:
        return torch.channels_last if self.channels_last else torch.contiguous_format

    def autocasting(self, **cache: bool) -> torch.autocast:
        """Return the context that forward passes run in."""
        wanted = self.autocast is not None
        return torch.autocast(self.device.type, self.autocast, enabled=wanted, **cache)


def choose_settings(options: Namespace, place: Place) -> Settings:
    """Return the settings, with defaults for what the command line leaves open.

    On a GPU channels-last suits the tensor cores and slows other kernels down: fp32 on a V100 takes
    1.6 times as long (https://github.com/pytorch/pytorch/issues/44943).
    On a CPU channels-last is faster in fp32, slower in bf16. With few pixels oneDNN spends longer
    on reordering weights for each step than on convolving, and PyTorch's own convolution is faster.

    :raises StoppedError: if there is no such device, or it lacks what the options need.
    """
    device = ranks.choose_device(options.device, place)
    on_gpu = device.type == "cuda"
    ranks.check_precision(options.precision, device)
    if options.cuda_graphs and not on_gpu:
        raise StoppedError("no_device", "--cuda-graphs needs a GPU")
    if options.onednn is not None and on_gpu:
        raise StoppedError("no_device", "--onednn and --no-onednn need --device cpu")
    autocast, tf32 = ranks.autocast_dtype(options.precision, on_gpu), options.precision == "tf32"
    small = (
        options.batch_size < SMALL_BATCH
        and options.batch_size * options.image_size**2 <= SMALL_PIXELS
    )
    channels_last, onednn = options.channels_last, options.onednn
    return Settings(
        device,
        autocast,
        tf32,
        (autocast is not None or tf32 if on_gpu else autocast is None)
        if channels_last is None
        else channels_last,
        (autocast is not None or not small if onednn is None else onednn) and not on_gpu,
        ranks.bucket_mib(options.bucket_mb, on_gpu),
    )


def apply_settings(settings: Settings, options: Namespace) -> None:
    """Set what is global to the process."""
    torch.set_num_threads(options.threads)
    if settings.on_gpu:
        torch.cuda.set_device(settings.device)
        torch.backends.cudnn.benchmark = True
        ranks.use_tf32(settings.tf32)
    else:
        torch.backends.mkldnn.set_flags(settings.onednn)
        keep_freed_memory()


class Bottleneck(nn.Module):
    """1x1, 3x3 (strided) and 1x1 convolutions beside a shortcut."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.conv1 = _convolution(block.channels, block.width, 1)
        self.bn1 = nn.BatchNorm2d(block.width)
        self.conv2 = _convolution(block.width, block.width, 3, block.stride)
        self.bn2 = nn.BatchNorm2d(block.width)
        self.conv3 = _convolution(block.width, block.filters, 1)
        self.bn3 = nn.BatchNorm2d(block.filters)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Sequential()
        if block.projects:
            self.shortcut = nn.Sequential(
                _convolution(block.channels, block.filters, 1, block.stride),
                nn.BatchNorm2d(block.filters),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(y + self.shortcut(x))


class ResNet50(nn.Module):
    """The whole network; `(N, 3, H, W)` in, `(N, classes)` logits out."""

    def __init__(self, classes: int = CLASSES, zero_init_residual: bool = False) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            _convolution(3, STEM_FILTERS, 7, 2),
            nn.BatchNorm2d(STEM_FILTERS),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.blocks = nn.Sequential(*(Bottleneck(block) for block in blocks()))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = _unset(nn.Linear, FEATURES, classes)
        self._initialise(zero_init_residual)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))

    def _initialise(self, zero_init_residual: bool) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, Bottleneck) and zero_init_residual:
                nn.init.zeros_(module.bn3.weight)
        nn.init.normal_(self.classifier.weight, std=0.01)
        nn.init.zeros_(self.classifier.bias)


def _convolution(channels: int, filters: int, side: int, stride: int = 1) -> nn.Module:
    return _unset(nn.Conv2d, channels, filters, side, stride=stride, padding=side // 2, bias=False)


def _unset(kind: type[nn.Module], *arguments: int, **options: Any) -> nn.Module:
    """Return a layer whose weights are still to be set.

    As PyTorch's `skip_init`, which imports SymPy for it: a fifth of a rank's CPU time to start.
    """
    layer = kind(*arguments, **options, device="meta")
    for name, weight in [*layer.named_parameters()]:
        setattr(layer, name, nn.Parameter(torch.empty(weight.shape)))
    return layer


class Step:
    """One iteration of `model`, with its gradients averaged over all ranks."""

    waits: PytorchWaits

    def __init__(self, model: nn.Module, settings: Settings, rate: float) -> None:
        self.settings = settings
        self.model = distribute(model, settings)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=LABEL_SMOOTHING)
        in_rows = settings.channels_last and not settings.on_gpu
        self.optimizer = (RowMajorSGD if in_rows else torch.optim.SGD)(
            model.parameters(), rate, MOMENTUM, weight_decay=WEIGHT_DECAY, fused=True
        )
        fp16 = settings.autocast is torch.float16
        self.scaler = torch.amp.GradScaler(settings.device.type, enabled=fp16)

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the following iterations."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def __call__(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss, averaged over the ranks, still on the device."""
        with self.settings.autocasting():
            loss = self.criterion(self.model(images), labels)
        mean, exchange = loss.detach().clone(), None
        if dist.is_initialized():
            mean /= dist.get_world_size()
            exchange = dist.all_reduce(mean, async_op=True)
        self.optimizer.zero_grad(set_to_none=True)
        self.waits.before_backward(loss)
        self.scaler.scale(loss).backward()
        self.waits.leave()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if exchange is not None:
            exchange.wait()
        return mean

    def values(self, loss: torch.Tensor) -> dict[str, float]:
        """Wait for the device and return the loss."""
        values = {"loss": loss.item()}
        if self.settings.on_gpu:
            torch.cuda.synchronize(self.settings.device)
        self.waits.end_step()
        return values


def captured(model: nn.Module, options: Namespace, settings: Settings) -> nn.Module:
    """Return the model with the kernels of its forward and backward pass as CUDA graphs.

    Before it is distributed, and without autocast's cache, as the documentation of
    ``torch.cuda.make_graphed_callables`` asks for. Loss and optimiser stay outside.
    """
    shape = (options.batch_size, 3, options.image_size, options.image_size)
    sample = torch.randn(shape, device=settings.device).contiguous(memory_format=settings.layout)
    with settings.autocasting(cache_enabled=False):
        return torch.cuda.make_graphed_callables(model, (sample,))


def distribute(model: nn.Module, settings: Settings) -> nn.Module:
    """Wrap the model so that gradients are averaged over the ranks.

    A single rank has nothing to exchange and stays unwrapped: a slower 1n1g would flatter every
    speed-up. Batch statistics stay local to a rank, as with Horovod.
    """
    if not dist.is_initialized():
        return model
    parameters = inspect.signature(DistributedDataParallel).parameters
    local = "forward_sync_buffers" if "forward_sync_buffers" in parameters else "broadcast_buffers"
    return DistributedDataParallel(
        model,
        device_ids=[settings.device.index] if settings.on_gpu else None,
        gradient_as_bucket_view=True,
        static_graph=True,
        **ranks.bucket_size(settings.bucket_mb),
        **{local: False},
    )


class RowMajorSGD(torch.optim.SGD):
    """SGD over channels-last weights, viewed in the order in which they lie in memory.

    PyTorch's fused CPU kernel makes a row-major copy of every gradient that is not row-major, and
    then does not use it.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], *arguments, **options) -> None:
        self.trained = list(parameters)
        super().__init__([_rows(weight.detach()) for weight in self.trained], *arguments, **options)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients."""
        for weight in self.trained:
            weight.grad = None

    def step(self, closure=None):
        """Update the weights from their gradients."""
        for view, weight in zip(self.param_groups[0]["params"], self.trained, strict=True):
            view.grad = _rows(weight.grad)
        return super().step(closure)


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.permute(0, 2, 3, 1) if tensor.dim() == 4 else tensor


class Evaluation(EpochEvaluation):
    """Top-1 accuracy over the validation images, which the ranks share out."""

    def __init__(self, training, images: Images, model, options, place, settings) -> None:
        super().__init__(training, len(images), learning_rate(options, place.world_size), place)
        self.model, self.settings = model, settings
        share = images[place.rank :: place.world_size]
        self.loader = evaluation_loader(share, options, settings.device)

    def count_correct(self) -> int:
        """Return how many images of all ranks the model labels correctly."""
        self._average_statistics()
        self.model.eval()
        device = self.settings.device
        correct = torch.zeros((), dtype=torch.int64, device=device)
        with torch.inference_mode():
            for images, labels in normalised(self.loader, device, self.settings.layout):
                with self.settings.autocasting():
                    answers = self.model(images).argmax(1)
                correct += (answers == labels).sum()
        self.model.train()
        if dist.is_initialized():
            dist.all_reduce(correct)
        return int(correct.item())

    def _average_statistics(self) -> None:
        """Give all ranks the mean of their batch statistics, which training keeps apart."""
        if not dist.is_initialized():
            return
        kept = [buffer for buffer in self.model.buffers() if buffer.is_floating_point()]
        joined = torch.cat([buffer.flatten() for buffer in kept])
        dist.all_reduce(joined)
        joined /= self.place.world_size
        parts = joined.split([buffer.numel() for buffer in kept])
        for buffer, part in zip(kept, parts, strict=True):
            buffer.copy_(part.view_as(buffer))


def train(
    options: Namespace,
    images: Images,
    target: TargetTraining | None = None,
    evaluated: Images | None = None,
) -> None:
    """Do all iterations of this rank.

    :param target: the training with evaluations of the images `evaluated`; None without.
    :raises StoppedError: on a loss that is not finite, or ranks whose weights differ.
    """
    if not options.compile:
        leave_out_compiler()
    place = ranks.find_place()
    settings = choose_settings(options, place)
    device, layout = settings.device, settings.layout
    apply_settings(settings, options)
    backend = ranks.join(place, device, timedelta(seconds=options.collective_timeout))
    torch.manual_seed(options.seed)
    model = ResNet50(zero_init_residual=options.zero_init_residual)
    model = model.to(device, memory_format=layout).train()
    header = {
        **header_facts(options, place),
        "framework": "pytorch",
        "framework_version": torch.__version__,
        "device": "gpu" if settings.on_gpu else "cpu",
        "device_name": ranks.device_name(device),
        "autocast_dtype": settings.autocast and str(settings.autocast).partition(".")[2],
        **ranks.cuda_facts(device),
        "compile": options.compile,
        "cuda_graphs": options.cuda_graphs,
        "channels_last": settings.channels_last,
        "data_backend": options.data_backend,
        "onednn": settings.onednn,
        "bucket_mib": settings.bucket_mb,
        "zero_init_residual": options.zero_init_residual,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "backend": backend,
        **(target.facts if target else {}),
    }
    begin_job(place, header, ranks.gather(place, place.facts()))
    feed = make_feed(images, options, place, device, layout)
    evaluation = None
    if target is not None:
        evaluation = Evaluation(target, evaluated, model, options, place, settings)
    rate = learning_rate(options, place.world_size)
    step = Step(
        captured(model, options, settings) if options.cuda_graphs else model, settings, rate
    )
    step.waits = PytorchWaits(place, device, options.warmup + options.iterations)
    if options.compile:
        step.model = torch.compile(step.model)
    gc.freeze()
    gc.enable()
    done, seconds = run_iterations(
        options,
        place,
        feed,
        step,
        line=iteration_line,
        rate=rate,
        wait_for_ranks=partial(ranks.synchronise, place, device),
        evaluation=evaluation,
        waits=step.waits,
    )
    if evaluation is not None:
        evaluation.close()
    end = ranks.checksum_of_weights(place, model), ranks.peak_memory(device)
    end_job(
        *(place, done, seconds, ranks.gather(place, end)),
        waits=ranks.gather(place, step.waits.facts()),
    )
    ranks.leave(place)
