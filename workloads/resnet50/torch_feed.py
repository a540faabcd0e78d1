"""Batches for the PyTorch trainer: one random batch over and over, or images from a folder."""

from __future__ import annotations

import random
from argparse import Namespace
from collections.abc import Callable, Iterator

import torch
from image_folder import CLASSES, read_for_evaluation, read_image
from rank_place import Place, end_with_parent
from report_lines import BadDataError
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from torch_settings import Settings
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
    """Images as bytes, augmented by default; normalising is left to the device."""

    def __init__(
        self, images: list[tuple[str, int]], size: int, read: Callable[..., bytes] = read_image
    ) -> None:
        self.images, self.size, self.read = images, size, read

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path, label = self.images[index]
        pixels = torch.frombuffer(bytearray(self.read(path, self.size)), dtype=torch.uint8)
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


def evaluation_loader(
    images: list[tuple[str, int]], options: Namespace, device: torch.device
) -> DataLoader:
    """Return the reader of the middles of `images`, in their order."""
    return DataLoader(
        ImageFolder(images, options.image_size, read_for_evaluation),
        options.batch_size,
        num_workers=options.workers,
        pin_memory=device.type == "cuda",
        persistent_workers=options.workers > 0,
        worker_init_fn=_start_worker,
    )


def folder(loader: DataLoader, sampler: DistributedSampler, settings: Settings) -> Iterator[Batch]:
    """Give this rank's share of the images, shuffled anew each epoch, for ever.

    :raises BadDataError: naming the file that cannot be read.
    """
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        for images, labels in normalised(loader, settings):
            yield epoch, images, labels
        epoch += 1


def normalised(
    loader: DataLoader, settings: Settings
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Give the batches of one pass over `loader` on the device, as the model takes them.

    :raises BadDataError: naming the file that cannot be read.
    """
    device = settings.device
    mean = torch.tensor(CHANNEL_MEAN, device=device).view(1, 3, 1, 1)
    deviation = torch.tensor(CHANNEL_DEVIATION, device=device).view(1, 3, 1, 1)
    for pixels, labels in _readable(loader):
        on_device = pixels.to(device, non_blocking=True).permute(0, 3, 1, 2)
        normal = ((on_device - mean) / deviation).contiguous(memory_format=settings.layout)
        yield normal, labels.to(device, non_blocking=True)


def _readable(loader: DataLoader) -> Iterator[list[torch.Tensor]]:
    try:
        yield from loader
    except BadDataError as error:  # wrapped in a reader process's traceback
        raise BadDataError(str(error).rpartition("BadDataError: ")[2].strip()) from None


def _start_worker(_worker: int) -> None:
    end_with_parent()
    random.seed(torch.initial_seed())  # another one for each worker
