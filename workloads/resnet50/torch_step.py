"""One training step in PyTorch: forward, backward, exchange of gradients, update."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch_settings import Settings
from training_rules import LABEL_SMOOTHING, MOMENTUM, WEIGHT_DECAY


class Step:
    """Train `model` by one batch at a time, with its gradients averaged over all ranks."""

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
        """Learn at another rate from now on."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def __call__(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss, averaged over the ranks, still on the device."""
        dtype = self.settings.autocast
        with torch.autocast(self.settings.device.type, dtype, enabled=dtype is not None):
            loss = self.criterion(self.model(images), labels)
        mean, exchange = loss.detach().clone(), None
        if dist.is_initialized():
            mean /= dist.get_world_size()
            exchange = dist.all_reduce(mean, async_op=True)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if exchange is not None:
            exchange.wait()
        return mean


def distribute(model: nn.Module, settings: Settings) -> nn.Module:
    """Wrap the model so that gradients are averaged over the ranks.

    A single rank has nobody to exchange with and stays unwrapped: a slower 1n1g would flatter every
    speed-up. Batch statistics stay local to a rank, as Horovod leaves them.
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
        bucket_cap_mb=settings.bucket_mb,
        **{local: False},
    )


class RowMajorSGD(torch.optim.SGD):
    """SGD over channels-last weights, seen in the order in which they lie in memory.

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
