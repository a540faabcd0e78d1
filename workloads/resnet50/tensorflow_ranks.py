"""The ranks of one Horovod job and where they run. TensorFlow 1.15 to 2.15, Python 3.7."""

from __future__ import annotations

import json
import os

import horovod.tensorflow as hvd
import tensorflow.compat.v2 as tf
from rank_place import Place, end_with_parent


def join():
    """Meet the other ranks; return this one's place.

    Open MPI says how many ranks a node has. Horovod counts those that share memory, which are more
    where several nodes are one machine.
    """
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        end_with_parent()
    hvd.init()
    return Place(
        hvd.rank(),
        hvd.size(),
        int(os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK", hvd.local_rank())),
        int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", hvd.local_size())),
    )


def backend():
    """Return what carries the gradients of a CPU, or of a GPU."""
    return "nccl" if hvd.nccl_built() else "mpi"


def gather(place, value):
    """Return every rank's `value`, anything that JSON holds, by rank, on every rank."""
    if place.world_size == 1:
        return [value]
    text = list(json.dumps(value).encode())
    lengths = hvd.allgather(tf.constant([len(text)]), name="lengths").numpy()
    joined = bytes(hvd.allgather(tf.constant(text, tf.uint8), name="values").numpy())
    ends = lengths.cumsum()
    return [json.loads(joined[end - size : end]) for size, end in zip(lengths, ends)]


def meet(place):
    """Wait until all ranks are here."""
    gather(place, place.rank)
