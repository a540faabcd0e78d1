"""Which samples each rank trains on, and reading them ahead in processes without a framework.

The processes are spawned: one that has threads of a framework or of MPI cannot be copied by fork.
"""

from __future__ import annotations

import collections
import multiprocessing
import random
import signal

from common.ranks import end_with_parent

AHEAD = 2  # batches that each process is given before the first of them is needed


def shuffled_batches(count, options, place):
    """Yield the batches of this rank, shuffled anew each epoch, without end.

    :param count: samples of the data set, at least one batch for every rank.
    :param options: of ``options.trainer_parser``: batch_size, seed.
    :returns: `(epoch, batch, indices)`, the batch numbered from 0 in its epoch.
    """
    epoch = 0
    while True:
        share = epoch_share(count, epoch, place, options.batch_size, options.seed)
        for batch, start in enumerate(range(0, len(share), options.batch_size)):
            yield epoch, batch, share[start : start + options.batch_size]
        epoch += 1


def epoch_share(count, epoch, place, batch_size, seed):
    """Return the indices of this rank's samples in an epoch, in whole batches.

    Every rank draws the same order, so that no two of them train on the same sample. What does not
    fill a batch on every rank is left out.

    :param count: samples of the data set.
    """
    order = list(range(count))
    random.Random(f"{seed} {epoch}").shuffle(order)
    batches = count // (place.world_size * batch_size)
    return order[place.rank :: place.world_size][: batches * batch_size]


def read_ahead(read, jobs, workers):
    """Yield `read(*job)` for each of the `jobs`, which may be endless, in their order.

    :param read: a function that a spawned process can import.
    :param workers: number of processes; 0 reads in this one.
    """
    if not workers:
        yield from (read(*job) for job in jobs)
        return
    with multiprocessing.get_context("spawn").Pool(workers, _start_worker) as pool:
        pending = collections.deque()
        for job in jobs:
            pending.append(pool.apply_async(read, job))
            if len(pending) > AHEAD * workers:
                yield pending.popleft().get()
        for one in pending:
            yield one.get()


def _start_worker():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the rank gets it too, and ends its workers
    end_with_parent()
