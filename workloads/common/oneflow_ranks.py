"""The ranks of a OneFlow job, which are one cluster of devices, and how they exchange values."""

from __future__ import annotations

import os
import socket

import numpy as np
import oneflow as flow

from common.ranks import Place, end_with_parent, from_row, to_row
from common.report_lines import StoppedError


def end_with_launcher():
    """End this rank when its parent dies, even by SIGKILL: OneFlow's launcher leaves it running."""
    if "MASTER_ADDR" in os.environ:
        end_with_parent()


def find_place():
    """Return this rank's place, counted by the names of the nodes that all ranks run on.

    OneFlow, and the variables that it sets, take nodes that share a machine for one.
    """
    rank = flow.env.get_rank()
    names = gather(os.environ.get("SCALEBENCH_NODE", socket.gethostname()))
    here = [other for other, name in enumerate(names) if name == names[rank]]
    return Place(rank, len(names), here.index(rank), len(here))


def all_devices(kind):
    """Return every rank's device, `kind` being cpu or cuda, as OneFlow places tensors on them."""
    return flow.placement(kind, ranks=list(range(flow.env.get_world_size())))


def gather(value):
    """Return every rank's `value`, a JSON value, by rank, on every rank."""
    row = np.frombuffer(to_row(value), np.uint8).astype(np.float32)
    rows = flow.tensor(row[None]).to_global(all_devices("cpu"), flow.sbp.split(0))
    table = rows.to_global(sbp=flow.sbp.broadcast).to_local().numpy().astype(np.uint8)
    return [from_row(whole) for whole in table]


def device_kind(options, place):
    """Return `cuda` or `cpu`.

    :raises StoppedError: if GPUs are requested and this node has too few that OneFlow can use, or
        for amp without one: OneFlow has no kernels for it on a CPU and computes in fp32.
    """
    usable = options.device != "cpu" and flow.cuda.is_available()
    count = flow.cuda.device_count() if usable else 0
    if options.device == "cpu" or (options.device == "auto" and not count):
        if options.precision == "amp":
            raise StoppedError("no_device", "OneFlow's automatic mixed precision needs a GPU")
        return "cpu"
    if place.local_rank >= count:
        raise StoppedError(
            "no_device",
            f"this node has {place.local_size} ranks and {count} GPUs that OneFlow "
            f"{flow.__version__} can use",
        )
    return "cuda"
