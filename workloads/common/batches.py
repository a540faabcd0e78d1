"""Which samples each rank trains on, and reading them ahead in processes without a framework.

The processes are spawned: one that has threads of a framework or of MPI cannot be copied by fork.
"""

from __future__ import annotations

import collections
import contextlib
import multiprocessing
import queue
import random
import signal
import threading
from concurrent.futures import Future
from multiprocessing.pool import ExceptionWithTraceback

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
    waiting, pending = queue.SimpleQueue(), collections.deque()
    readers = [_Reader(read, waiting) for _ in range(workers)]
    try:
        for job in jobs:
            pending.append(Future())
            waiting.put((job, pending[-1]))
            if len(pending) > AHEAD * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for reader in readers:
            reader.process.terminate()
            waiting.put(None)


class _Reader(threading.Thread):
    """A process that reads, and the thread that waits for it, so that training need not.

    Each has a connection of its own, which the kernel closes when the process is killed. Where all
    share queues, as with Pool and ProcessPoolExecutor, the rank may wait for ever then: for what
    was read, for a lock that the process held, or to write the next job into a pipe that is full.
    """

    def __init__(self, read, waiting):
        super().__init__(daemon=True)
        self._waiting = waiting
        spawned = multiprocessing.get_context("spawn")
        self._connection, theirs = spawned.Pipe()
        self.process = spawned.Process(target=_serve, args=(read, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.start()

    def run(self):
        """Have the process read what is waiting, until that is None or the process has ended."""
        with self._connection:
            # Nothing of a batch stays here while the next one is waited for.
            while self._read_one():
                pass

    def _read_one(self):
        taken = self._waiting.get()
        if taken is None:
            return False
        job, answer = taken
        try:
            self._connection.send(job)
            error, batch = self._connection.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            answer.set_exception(RuntimeError(f"a process that reads ended: exit code {code}"))
            return False
        except Exception as unreadable:  # else it would be waited for, for ever
            error = unreadable
        if error:
            answer.set_exception(error)
        else:
            answer.set_result(batch)
        return True


def _serve(read, connection):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the rank gets it too, and ends its readers
    end_with_parent()
    # The rank has ended: where it was killed, the reason is not that nobody takes its batches.
    with contextlib.suppress(EOFError, OSError):
        while True:
            job = connection.recv()
            try:
                told = None, read(*job)
            except Exception as error:  # raised where its batch is waited for
                told = ExceptionWithTraceback(error, error.__traceback__), None
            connection.send(told)
