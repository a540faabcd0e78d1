"""The ranks of an MXNet job: their devices, and the exchange by Horovod or a key-value store."""

from __future__ import annotations

import os

import mxnet as mx
from mxnet import gluon

from common.ranks import Place, from_row, peak_resident_mib, place_from, to_row
from common.report_lines import StoppedError

MIB = 1 << 20
FIRST_KEY = 1 << 20  # of sums in the key-value store; Gluon counts its parameters from 0


class SingleRank:
    """A single rank, which exchanges nothing: a slower 1n1g would flatter every speed-up."""

    backend = None
    place = Place()

    def sum(self, array):
        """Return the sum of every rank's array."""
        return array

    def trainer(self, parameters, settings, batch_size):
        """Return the optimiser, and the number of images that its steps are to divide by."""
        return gluon.Trainer(parameters, "sgd", settings, kvstore=None), batch_size

    def gather(self, value):
        """Return every rank's JSON value, by rank, on every rank.

        Each writes the bytes of its own row; the sum of all tables is the whole table.
        """
        if self.place.world_size == 1:
            return [value]
        row = to_row(value)
        table = mx.nd.zeros((self.place.world_size, len(row)))
        table[self.place.rank] = mx.nd.array(list(row))
        return [from_row(whole) for whole in self.sum(table).asnumpy().astype("uint8")]


class HorovodRanks(SingleRank):
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


class StoreRanks(SingleRank):
    """Workers of MXNet's key-value store; its servers add up the gradients.

    Workers are numbered there in the order in which they connect. RANK and the other variables that
    torchrun would set state which one is the first of the leading node.
    """

    backend = "dist_sync"

    def __init__(self):
        self.store = mx.kv.create("dist_sync")
        self.keys = {}
        self.place = Place(self.store.rank, self.store.num_workers, 0, 1)
        if "RANK" in os.environ:
            self.place = place_from(os.environ)

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
        trainer = _StoreTrainer(
            parameters, "sgd", settings, kvstore=self.store, update_on_kvstore=False
        )
        return trainer, batch_size * self.place.world_size


class _StoreTrainer(gluon.Trainer):
    """Hold the first gradients back until this worker has the initial weights.

    The servers keep both under one key, and MXNet waits for neither: a worker whose request for
    the weights came after all gradients got their sum for its weights.
    """

    def _init_params(self):
        super()._init_params()
        mx.nd.waitall()


def join():
    """Return the ranks that the launcher's variables describe, once connected."""
    if os.environ.get("DMLC_ROLE") == "worker":
        return StoreRanks()
    if os.environ.get("OMPI_COMM_WORLD_SIZE", os.environ.get("HOROVOD_SIZE", "1")) != "1":
        return HorovodRanks()
    return SingleRank()


def choose_device(requested, place):
    """Return this rank's device.

    :raises StoppedError: if GPUs are requested and this node has too few that MXNet can use.
    """
    count = 0 if requested == "cpu" else mx.context.num_gpus()
    if requested == "cpu" or (requested == "auto" and not count):
        return mx.cpu()
    if place.local_rank >= count:
        raise StoppedError(
            "no_device",
            f"this node has {place.local_size} ranks and {count} GPUs that MXNet "
            f"{mx.__version__} can use",
        )
    return mx.gpu(place.local_rank)


def peak_memory(device):
    """Return MiB: what is taken of a GPU, whose pool MXNet never shrinks, else peak resident."""
    if device.device_type != "gpu":
        return peak_resident_mib()
    free, whole = mx.context.gpu_memory_info(device.device_id)
    return (whole - free) / MIB
