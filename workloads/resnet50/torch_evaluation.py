"""Top-1 accuracy of the PyTorch model over the validation images, shared among the ranks."""

from __future__ import annotations

from argparse import Namespace

import torch
import torch.distributed as dist
import torch_feed
from rank_place import Place
from target_training import EpochEvaluation, TargetTraining
from torch import nn
from torch_settings import Settings


class Evaluation(EpochEvaluation):
    """Evaluates `model` after each epoch."""

    def __init__(
        self,
        training: TargetTraining,
        images: list[tuple[str, int]],
        model: nn.Module,
        options: Namespace,
        place: Place,
        settings: Settings,
    ) -> None:
        super().__init__(training, len(images), options, place)
        self.model, self.settings = model, settings
        share = images[place.rank :: place.world_size]
        self.loader = torch_feed.evaluation_loader(share, options, settings.device)

    def count_correct(self) -> int:
        """Return how many images of all ranks the model names rightly."""
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
