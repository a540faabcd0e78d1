"""The ranks of one OneFlow job, where they run, and the devices that they are, as one cluster."""

from __future__ import annotations

import json
import os
import socket

import numpy as np
import oneflow as flow
from rank_place import Place, end_with_parent

WIDTH = 512  # bytes that a value of `gather` may take


def end_with_launcher():
    """End this rank when what started it dies, even by SIGKILL: OneFlow's launcher leaves it."""
    if "MASTER_ADDR" in os.environ:
        end_with_parent()


def all_devices(kind):
    """Return every rank's device, `kind` being cpu or cuda, as OneFlow places tensors on them."""
    return flow.placement(kind, ranks=list(range(flow.env.get_world_size())))


def gather(value):
    """Return every rank's `value`, anything that JSON holds, by rank, on every rank."""
    text = json.dumps(value).encode()
    if len(text) > WIDTH:
        raise ValueError(f"{len(text)} bytes do not fit in {WIDTH}: {value}")
    row = np.frombuffer(text.ljust(WIDTH), np.uint8).astype(np.float32)
    rows = flow.tensor(row[None]).to_global(all_devices("cpu"), flow.sbp.split(0))
    table = rows.to_global(sbp=flow.sbp.broadcast).to_local().numpy().astype(np.uint8)
    return [json.loads(found.tobytes().decode()) for found in table]


def find_place():
    """Return this rank's place, counted by the names of the nodes that all ranks run on.

    OneFlow takes nodes that share a machine for one, and so do its variables.
    """
    rank = flow.env.get_rank()
    names = gather(os.environ.get("SCALEBENCH_NODE", socket.gethostname()))
    here = [other for other, name in enumerate(names) if name == names[rank]]
    return Place(rank, len(names), here.index(rank), len(here))
