"""Batches of augmented images as bytes, read ahead by processes that know no framework.

They start afresh: a process that has threads of a framework or of MPI cannot be copied by fork.
Standard library only and runs on Python 3.7, as the oldest frameworks need.
"""

from __future__ import annotations

import collections
import multiprocessing
import random
import signal

from image_folder import read_image
from rank_place import end_with_parent

AHEAD = 2  # batches that each process is given before the first of them is needed


def image_batches(images, options, place):
    """Give this rank's share of the images, shuffled anew each epoch, for ever.

    :param images: `(path, label)` of all, at least one batch for every rank.
    :param options: of ``shared_options``: batch_size, image_size, workers, seed.
    :param place: a ``rank_place.Place``.
    :returns: `(epoch, batch, pixels, labels)`: the batch counted from 0 in its epoch, the pixels as
        bytes of batch_size x image_size x image_size x 3.
    :raises BadDataError: naming the file that cannot be read.
    """
    jobs = _jobs(images, options, place)
    if not options.workers:
        yield from (_read(*job) for job in jobs)
    with multiprocessing.get_context("spawn").Pool(options.workers, _start_worker) as pool:
        waiting = collections.deque()
        for job in jobs:
            waiting.append(pool.apply_async(_read, job))
            if len(waiting) > AHEAD * options.workers:
                yield waiting.popleft().get()


def epoch_share(count, epoch, place, batch_size, seed):
    """Return the indices of this rank's images of an epoch, in whole batches.

    Every rank draws the same order, so that no two of them train on the same image; what does not
    fill a batch on every rank is left out.

    :param count: images of the data set.
    """
    order = list(range(count))
    random.Random(f"{seed} {epoch}").shuffle(order)
    batches = count // (place.world_size * batch_size)
    return order[place.rank :: place.world_size][: batches * batch_size]


def _jobs(images, options, place):
    """Give what :func:`_read` is to be called with, for ever."""
    size, count = options.image_size, options.batch_size
    epoch = 0
    while True:
        share = epoch_share(len(images), epoch, place, count, options.seed)
        for batch, at in enumerate(range(0, len(share), count)):
            # An image's crop depends on neither the rank nor the process that reads it.
            files = [
                (*images[index], f"{options.seed} {epoch} {index}")
                for index in share[at : at + count]
            ]
            yield epoch, batch, files, size
        epoch += 1


def _read(epoch, batch, files, size):
    pixels = b"".join(read_image(path, size, random.Random(seed)) for path, _, seed in files)
    return epoch, batch, pixels, [label for _, label, _ in files]


def _start_worker():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the rank is told, and ends them
    end_with_parent()
