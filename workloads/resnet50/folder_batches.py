"""Batches of augmented images from a folder, read ahead by processes, for any framework.

Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import collections
import multiprocessing
import random
import signal
from concurrent.futures import ProcessPoolExecutor

from image_folder import read_image
from rank_place import end_with_parent

AHEAD = 2  # batches that are being read while one is trained on


def folder_batches(images, options, place):
    """Give this rank's share of the images, shuffled anew each epoch, for ever.

    :param images: `(path, label)` of every image, at least a global batch of them.
    :param options: of ``shared_options.shared_parser``.
    :param place: a ``rank_place.Place``.
    :returns: an iterator of `(epoch, [bytes of size x size x 3], [label])`, a batch each.
    :raises BadDataError: naming the file that cannot be read.
    """
    wanted = _batches_of_files(images, options, place)
    if not options.workers:
        for epoch, files, labels in wanted:
            yield epoch, [_read(file) for file in files], labels
    with ProcessPoolExecutor(
        options.workers,
        multiprocessing.get_context("spawn"),  # threads of a framework do not survive a fork
        initializer=_start_reader,
    ) as readers:
        waiting = collections.deque()
        while True:
            while len(waiting) <= AHEAD:
                epoch, files, labels = next(wanted)
                waiting.append((epoch, readers.map(_read, files), labels))
            epoch, pixels, labels = waiting.popleft()
            yield epoch, list(pixels), labels


def _batches_of_files(images, options, place):
    """Yield `(epoch, [(path, size, seed)], [label])`; what does not fill a batch is dropped."""
    epoch = 0
    whole = options.batch_size * place.world_size
    while True:
        shuffled = list(enumerate(images))
        random.Random(f"{options.seed} {epoch}").shuffle(shuffled)
        for start in range(0, len(images) - whole + 1, whole):
            mine = shuffled[start + place.rank : start + whole : place.world_size]
            # An image's crop depends on neither the rank nor the process that reads it.
            files = [
                (path, options.image_size, f"{options.seed} {epoch} {index}")
                for index, (path, _) in mine
            ]
            yield epoch, files, [label for _, (_, label) in mine]
        epoch += 1


def _read(file):
    path, size, seed = file
    return read_image(path, size, random.Random(seed))


def _start_reader():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the rank is told, and ends them
    end_with_parent()
