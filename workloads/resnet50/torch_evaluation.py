"""Top-1 accuracy of the PyTorch model over the validation images, shared among the ranks."""

from __future__ import annotations

import time
from argparse import Namespace

import ai_rank_lines
import torch
import torch.distributed as dist
import torch_feed
from rank_place import Place
from rate_schedule import scheduled_rate
from target_training import TargetTraining
from torch import nn
from torch_settings import Settings
from training_rules import learning_rate


class Evaluation:
    """Evaluates `model` after each epoch, prints its accuracy, and schedules the learning rate."""

    def __init__(
        self,
        training: TargetTraining,
        images: list[tuple[str, int]],
        model: nn.Module,
        options: Namespace,
        place: Place,
        settings: Settings,
    ) -> None:
        self.training, self.model, self.place, self.settings = training, model, place, settings
        self.peak = learning_rate(options, place.world_size)
        self.count, self.epochs = len(images), 0
        share = images[place.rank :: place.world_size]
        self.loader = torch_feed.evaluation_loader(share, options, settings.device)
        if place.rank == 0:
            print(ai_rank_lines.begin_line(training.begin))

    def rate(self, number: int) -> float:
        """Return the learning rate of iteration `number`."""
        return scheduled_rate(self.peak, number, self.training.total)

    def is_due(self, number: int) -> bool:
        """Tell whether iteration `number` ends an epoch."""
        return number % self.training.steps_per_epoch == 0

    def close(self) -> None:
        """Print how long it took, and how long to the target."""
        if self.place.rank == 0:
            print(*ai_rank_lines.end_lines(time.time(), self.training), sep="\n")

    def __call__(self) -> bool:
        """Evaluate; return whether the training ends, which is the same on all ranks."""
        self.epochs += 1
        self._average_statistics()
        self.model.eval()
        correct = torch.zeros((), dtype=torch.int64, device=self.settings.device)
        dtype = self.settings.autocast
        with torch.inference_mode():
            for images, labels in torch_feed.normalised(self.loader, self.settings):
                with torch.autocast(self.settings.device.type, dtype, enabled=dtype is not None):
                    answers = self.model(images).argmax(1)
                correct += (answers == labels).sum()
        self.model.train()
        if dist.is_initialized():
            dist.all_reduce(correct)
        percent, ends, now = self.training.evaluated(correct.item(), self.count)
        if self.place.rank == 0:
            print(ai_rank_lines.evaluation_line(now, percent, self.epochs))
        return ends

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
