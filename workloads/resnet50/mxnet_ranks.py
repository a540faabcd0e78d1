"""The ranks of one MXNet job, and how they exchange: Horovod, a key-value store, or not at all."""

from __future__ import annotations

import json
import os

import mxnet as mx
from mxnet import gluon
from rank_place import Place

FIRST_KEY = 1 << 20  # of sums in the key-value store; Gluon counts its parameters from 0


class Alone:
    """A single rank, which exchanges nothing: a slower 1n1g would flatter every speed-up."""

    backend = None
    place = Place(0, 1, 0, 1)

    def sum(self, array):
        """Return the sum of every rank's array."""
        return array

    def trainer(self, parameters, settings, batch_size):
        """Return the optimiser, and the number of images that its steps are to divide by."""
        return gluon.Trainer(parameters, "sgd", settings, kvstore=None), batch_size


class HorovodRanks(Alone):
    """Ranks that mpirun or horovodrun started; gradients are all-reduced."""

    backend = "horovod"

    def __init__(self):
        import horovod.mxnet as hvd  # noqa: PLC0415 (other launchers do not need it)

        hvd.init()
        self.hvd = hvd
        self.place = Place(hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size())

    def sum(self, array):
        return self.hvd.allreduce(array, average=False)

    def trainer(self, parameters, settings, batch_size):
        self.hvd.broadcast_parameters(parameters, root_rank=0)
        # It divides by the number of ranks itself.
        return self.hvd.DistributedTrainer(parameters, "sgd", settings), batch_size


class StoreRanks(Alone):
    """Workers of MXNet's key-value store; its servers add up the gradients.

    Workers are numbered there in the order in which they connect. RANK and its like, as torchrun
    has them, say which one is the first of the leading node.
    """

    backend = "dist_sync"

    def __init__(self):
        self.store = mx.kv.create("dist_sync")
        self.keys = {}
        self.place = Place(self.store.rank, self.store.num_workers, 0, 1)
        if "RANK" in os.environ:
            names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
            self.place = Place(*(int(os.environ[name]) for name in names))

    def sum(self, array):
        total = mx.nd.zeros_like(array)
        key = self.keys.get(array.shape)
        if key is None:
            key = self.keys[array.shape] = FIRST_KEY + len(self.keys)
            self.store.init(key, total)
        self.store.push(key, array)
        self.store.pull(key, out=total)
        return total

    def trainer(self, parameters, settings, batch_size):
        # Each worker updates its own weights, as with Horovod: only the exchange differs.
        trainer = _TrainerOfTheStore(
            parameters, "sgd", settings, kvstore=self.store, update_on_kvstore=False
        )
        return trainer, batch_size * self.place.world_size


class _TrainerOfTheStore(gluon.Trainer):
    """Hold the first gradients back until this worker has the weights that all begin with.

    The servers keep both under one key, and MXNet waits for neither: a worker whose request for
    the weights came after all gradients got their sum for its weights.
    """

    def _init_params(self):
        super()._init_params()
        mx.nd.waitall()


def join():
    """Meet the other ranks; the launcher's variables say who they are."""
    if os.environ.get("DMLC_ROLE") == "worker":
        return StoreRanks()
    if os.environ.get("OMPI_COMM_WORLD_SIZE", os.environ.get("HOROVOD_SIZE", "1")) != "1":
        return HorovodRanks()
    return Alone()


def gather(ranks, value, width=512):
    """Return every rank's JSON value, by rank, on every rank.

    Each writes the bytes of its own row; the sum of all tables is the whole table.

    :param width: bytes that a value may take.
    """
    place = ranks.place
    if place.world_size == 1:
        return [value]
    text = json.dumps(value).encode()
    if len(text) > width:
        raise ValueError(f"{len(text)} bytes do not fit in {width}: {value}")
    table = mx.nd.zeros((place.world_size, width))
    table[place.rank] = mx.nd.array(list(text.ljust(width)))
    rows = ranks.sum(table).asnumpy().astype("uint8")
    return [json.loads(row.tobytes().decode()) for row in rows]
