"""Batches for the PyTorch trainer: one random batch over and over, or images from a folder."""

from __future__ import annotations

import itertools
import random
from argparse import Namespace
from collections.abc import Callable, Iterator

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from common.ranks import Place, end_with_parent
from common.report_lines import BadDataError
from resnet50 import dali_reader
from resnet50.images import CHANNEL_DEVIATION, CHANNEL_MEAN, read_for_evaluation, read_image
from resnet50.layers import CLASSES

Images = list[tuple[str, int]]  # path, label
# Epoch, number in it, images (N, 3, H, W), labels (N).
Batch = tuple[int, int, torch.Tensor, torch.Tensor]


def make_feed(
    images: Images,
    options: Namespace,
    place: Place,
    device: torch.device,
    layout: torch.memory_format,
) -> Iterator[Batch]:
    """Return this rank's batches, without end.

    :param images: all of the data set; none for synthetic data.
    """
    if options.data == "synthetic":
        return synthetic(options, place, device, layout)
    read = from_folder_by_dali if options.data_backend == "dali" else from_folder
    return read(images, options, place, device, layout)


def synthetic(
    options: Namespace, place: Place, device: torch.device, layout: torch.memory_format
) -> Iterator[Batch]:
    """Make one batch on the device and yield it without end."""
    chance = torch.Generator(device).manual_seed(options.seed + place.rank)
    count, size = options.batch_size, options.image_size
    images = torch.randn(count, 3, size, size, device=device, generator=chance)
    images = images.contiguous(memory_format=layout)
    labels = torch.randint(CLASSES, (count,), device=device, generator=chance)
    for batch in itertools.count():
        yield 0, batch, images, labels


def from_folder(
    images: Images,
    options: Namespace,
    place: Place,
    device: torch.device,
    layout: torch.memory_format,
) -> Iterator[Batch]:
    """Yield this rank's share of the images, shuffled anew each epoch, without end.

    :raises BadDataError: naming the file that cannot be read.
    """
    dataset = ImageFolder(images, options.image_size)
    sampler = DistributedSampler(
        dataset, place.world_size, place.rank, seed=options.seed, drop_last=True
    )
    random.seed(options.seed + place.rank)
    loader = make_loader(
        dataset,
        options,
        device,
        sampler=sampler,
        drop_last=True,
        generator=torch.Generator().manual_seed(options.seed + place.rank),
    )
    for epoch in itertools.count():
        sampler.set_epoch(epoch)
        for batch, pair in enumerate(normalised(loader, device, layout)):
            yield epoch, batch, *pair


def from_folder_by_dali(
    images: Images,
    options: Namespace,
    place: Place,
    device: torch.device,
    layout: torch.memory_format,
) -> Iterator[Batch]:
    """Yield this rank's share of the images, read and augmented by DALI, without end.

    The first epoch has an order of our own, as DALI shuffles after each one; what does not fill a
    batch on every rank is left out, so that an epoch ends with a batch.

    :raises BadDataError: naming the folder, where DALI cannot read a file of it.
    """
    from nvidia.dali.plugin.pytorch import DALIGenericIterator  # noqa: PLC0415 (only here)

    batches = len(images) // (options.batch_size * place.world_size)
    chosen = random.Random(options.seed).sample(images, len(images))
    chosen = chosen[: batches * options.batch_size * place.world_size]

    def read(fn):
        return fn.readers.file(
            files=[path for path, _ in chosen],
            labels=[label for _, label in chosen],
            shuffle_after_epoch=True,
            shuffle_after_epoch_seed=options.seed,
            shard_id=place.rank,
            num_shards=place.world_size,
        )

    axes = "HWC" if layout is torch.channels_last else "CHW"
    try:
        pipeline = dali_reader.build_pipeline(read, options, place, axes, device.index)
        for count, (batch,) in enumerate(DALIGenericIterator(pipeline, ["images", "labels"])):
            pixels = batch["images"].permute(0, 3, 1, 2) if axes == "HWC" else batch["images"]
            yield *divmod(count, batches), pixels, batch["labels"].view(-1).long()
    except RuntimeError as error:
        raise BadDataError(
            f"DALI cannot read an image of {options.data_dir}: {dali_reader.cause(error)}; "
            "the backend native names it"
        ) from None


def evaluation_loader(images: Images, options: Namespace, device: torch.device) -> DataLoader:
    """Return the reader of the middles of `images`, in their order."""
    dataset = ImageFolder(images, options.image_size, read_for_evaluation)
    return make_loader(dataset, options, device)


class ImageFolder(Dataset):
    """Images as bytes, augmented by default; they are normalised on the device."""

    def __init__(self, images: Images, size: int, read: Callable[..., bytes] = read_image) -> None:
        self.images, self.size, self.read = images, size, read

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path, label = self.images[index]
        pixels = torch.frombuffer(bytearray(self.read(path, self.size)), dtype=torch.uint8)
        return pixels.view(self.size, self.size, 3), label


def make_loader(
    dataset: ImageFolder, options: Namespace, device: torch.device, **order
) -> DataLoader:
    """Return a reader of batches in processes of its own."""
    return DataLoader(
        dataset,
        options.batch_size,
        num_workers=options.workers,
        pin_memory=device.type == "cuda",
        persistent_workers=options.workers > 0,
        worker_init_fn=_start_worker,
        **order,
    )


def normalised(
    loader: DataLoader, device: torch.device, layout: torch.memory_format
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield the batches of one pass over `loader` on the device, as the model takes them.

    :raises BadDataError: naming the file that cannot be read.
    """
    mean = torch.tensor(CHANNEL_MEAN, device=device).view(1, 3, 1, 1)
    deviation = torch.tensor(CHANNEL_DEVIATION, device=device).view(1, 3, 1, 1)
    try:
        for pixels, labels in loader:
            on_device = pixels.to(device, non_blocking=True).permute(0, 3, 1, 2)
            normal = ((on_device - mean) / deviation).contiguous(memory_format=layout)
            yield normal, labels.to(device, non_blocking=True)
    except BadDataError as error:  # wrapped in a reader process's traceback
        raise BadDataError(str(error).rpartition("BadDataError: ")[2].strip()) from None


def _start_worker(_worker: int) -> None:
    end_with_parent()
    random.seed(torch.initial_seed())  # different in each worker
