"""Batches for the PyTorch trainer: one random batch over and over, or images from a folder."""

from __future__ import annotations

import random
from argparse import Namespace
from collections.abc import Iterator

import torch
from image_folder import CLASSES, read_image
from rank_place import Place, end_with_parent
from report_lines import BadDataError
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from training_rules import CHANNEL_DEVIATION, CHANNEL_MEAN

Batch = tuple[int, torch.Tensor, torch.Tensor]  # epoch, images (N, 3, H, W), labels (N)


def synthetic(
    batch_size: int, size: int, layout: torch.memory_format, device: torch.device, seed: int
) -> Iterator[Batch]:
    """Make one batch on the device and give it for ever."""
    chance = torch.Generator(device).manual_seed(seed)
    images = torch.randn(batch_size, 3, size, size, device=device, generator=chance)
    images = images.contiguous(memory_format=layout)
    labels = torch.randint(CLASSES, (batch_size,), device=device, generator=chance)
    while True:
        yield 0, images, labels


class ImageFolder(Dataset):
    """Augmented images as bytes; normalising is left to the device."""

    def __init__(self, images: list[tuple[str, int]], size: int) -> None:
        self.images, self.size = images, size

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path, label = self.images[index]
        pixels = torch.frombuffer(bytearray(read_image(path, self.size)), dtype=torch.uint8)
        return pixels.view(self.size, self.size, 3), label


def folder_loader(
    images: list[tuple[str, int]], options: Namespace, device: torch.device, place: Place
) -> tuple[DataLoader, DistributedSampler]:
    """Return the reader of this rank's share of the images and what shuffles them."""
    dataset = ImageFolder(images, options.image_size)
    sampler = DistributedSampler(
        dataset, place.world_size, place.rank, seed=options.seed, drop_last=True
    )
    random.seed(options.seed + place.rank)
    loader = DataLoader(
        dataset,
        options.batch_size,
        sampler=sampler,
        num_workers=options.workers,
        drop_last=True,
        pin_memory=device.type == "cuda",
        persistent_workers=options.workers > 0,
        worker_init_fn=_start_worker,
        generator=torch.Generator().manual_seed(options.seed + place.rank),
    )
    return loader, sampler


def folder(
    loader: DataLoader,
    sampler: DistributedSampler,
    layout: torch.memory_format,
    device: torch.device,
) -> Iterator[Batch]:
    """Give this rank's share of the images, shuffled anew each epoch, for ever.

    :raises BadDataError: naming the file that cannot be read.
    """
    mean = torch.tensor(CHANNEL_MEAN, device=device).view(1, 3, 1, 1)
    deviation = torch.tensor(CHANNEL_DEVIATION, device=device).view(1, 3, 1, 1)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        for pixels, labels in _readable(loader):
            on_device = pixels.to(device, non_blocking=True).permute(0, 3, 1, 2)
            normal = ((on_device - mean) / deviation).contiguous(memory_format=layout)
            yield epoch, normal, labels.to(device, non_blocking=True)
        epoch += 1


def _readable(loader: DataLoader) -> Iterator[list[torch.Tensor]]:
    try:
        yield from loader
    except BadDataError as error:  # wrapped in a reader process's traceback
        raise BadDataError(str(error).rpartition("BadDataError: ")[2].strip()) from None


def _start_worker(_worker: int) -> None:
    end_with_parent()
    random.seed(torch.initial_seed())  # another one for each worker
