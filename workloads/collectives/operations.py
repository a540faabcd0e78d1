"""Run, check and time a collective of torch.distributed on this rank."""

from __future__ import annotations

import platform
import time
from argparse import Namespace
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from collectives.definitions import ELEMENT_BYTES, elements, operation_line
from common import pytorch_ranks as ranks
from common.job import begin_job
from common.ranks import Place, keep_freed_memory
from common.report_lines import StoppedError, end_line, put

# Sums of small whole numbers are exact in fp32, so a result is either right or wrong.
PERIOD = 31


class Operation:
    """One collective with its buffers. ``fill`` sets them, calling runs it, ``expected`` is known.

    :param count: elements of the whole message.
    """

    def __init__(self, name: str, count: int, place: Place, device: torch.device) -> None:
        size, rank = place.world_size, place.rank
        self.place = place
        # What rank r has: (position modulo PERIOD) + r.
        self.ramp = torch.arange(count, device=device).remainder_(PERIOD).float()
        share = slice(rank * (count // size), (rank + 1) * (count // size))
        everyone = self.ramp * size + sum(range(size))
        self.buffer, self.result = torch.empty_like(self.ramp), torch.empty_like(self.ramp)
        call: Callable[[], Any]
        if name == "all_reduce":
            self.result, self.expected = self.buffer, everyone
            call = self._all_reduce
        elif name == "broadcast":
            self.result, self.expected = self.buffer, self.ramp
            call = self._broadcast
        elif name == "all_gather":
            self.buffer = self.buffer[: count // size].clone()
            owner = torch.arange(count, device=device).div_(count // size, rounding_mode="floor")
            self.expected = self.ramp[: count // size].repeat(size) + owner
            call = self._all_gather
        elif name == "reduce_scatter":
            self.result = self.result[: count // size].clone()
            self.expected = everyone[share]
            call = self._reduce_scatter
        else:
            self.expected = self.ramp + (rank - 1) % size
            call = self._send_receive
        self.call = call

    def fill(self) -> None:
        """Give the buffer this rank's values, and the result none of the right ones."""
        self.result.fill_(-1.0)
        self.buffer.copy_(self.ramp[: self.buffer.numel()])
        self.buffer.add_(self.place.rank)

    def _all_reduce(self) -> None:
        dist.all_reduce(self.buffer)

    def _broadcast(self) -> None:
        dist.broadcast(self.buffer, src=0)

    def _all_gather(self) -> None:
        dist.all_gather_into_tensor(self.result, self.buffer)

    def _reduce_scatter(self) -> None:
        dist.reduce_scatter_tensor(self.result, self.buffer)

    def _send_receive(self) -> None:
        rank, size = self.place.rank, self.place.world_size
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, self.buffer, (rank + 1) % size),
                dist.P2POp(dist.irecv, self.result, (rank - 1) % size),
            ]
        )
        for work in works:
            work.wait()

    def wrong(self) -> int:
        """Return how many elements of the result are not what they should be."""
        return int((self.result != self.expected).sum().item())


def measure(options: Namespace) -> None:
    """Do the checked and the measured operations; the first rank prints them.

    The duration of an operation is the mean over the ranks, as nccl-tests reports by default.

    :raises StoppedError: a result is wrong, or there is no device.
    """
    place = ranks.find_place()
    device = ranks.choose_device(options.device, place)
    torch.set_num_threads(options.threads)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    else:
        keep_freed_memory()
    backend = ranks.join(place, device, timedelta(seconds=options.collective_timeout))
    count = elements(options.collective, options.bytes, place.world_size)
    own = {"collective": options.collective, "message_bytes": options.bytes}
    facts = ranks.gather(place, place.facts())
    begin_job(place, header(options, place, device, backend, own), facts)
    operation = Operation(options.collective, count, place, device)
    begin = time.perf_counter()
    timed = [_time(operation, device, check=True) for _ in range(options.warmup)]
    ranks.synchronise(place, device)
    operation.fill()
    ranks.synchronise(place, device)
    timed += [_time(operation, device, check=False) for _ in range(options.iterations)]
    total = time.perf_counter() - begin
    _time(operation, device, check=True)
    of_ranks = ranks.gather(place, [seconds for seconds, _ in timed])
    memory = max(ranks.gather(place, ranks.peak_memory(device)))
    if place.rank == 0:
        for number, (seconds, (_, ended)) in enumerate(zip(zip(*of_ranks), timed), 1):
            mean = sum(seconds) / len(seconds)
            size = count * ELEMENT_BYTES
            put(operation_line(options.collective, number, size, place.world_size, mean, ended))
        put(end_line(len(timed), total, memory, "", True))
    ranks.leave(place)


def _time(operation: Operation, device: torch.device, check: bool) -> tuple[float, float]:
    """Return the seconds of one operation, and when it ended.

    :param check: fill the buffers before it, and compare the result after it.
    :raises StoppedError: the result is wrong on any rank.
    """
    if check:
        operation.fill()
        ranks.synchronise(operation.place, device)
    before = time.perf_counter()
    operation.call()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    seconds, ended = time.perf_counter() - before, time.time()
    if check:
        wrong = ranks.gather(operation.place, operation.wrong())
        if any(wrong):
            raise StoppedError(
                "wrong_result",
                f"wrong elements by rank, of {operation.expected.numel()}: "
                + ", ".join(map(str, wrong)),
            )
    return seconds, ended


def header(
    options: Namespace,
    place: Place,
    device: torch.device,
    backend: str | None,
    own_factors: dict[str, Any],
) -> dict[str, Any]:
    """Return what the header line states of a program of this folder."""
    return {
        "model": "collective",
        "framework": "pytorch",
        "framework_version": torch.__version__,
        "python": platform.python_version(),
        "world_size": place.world_size,
        "nodes": place.nodes,
        "devices_per_node": place.local_size,
        "precision": "fp32",
        "warmup": options.warmup,
        "iterations": options.iterations,
        "threads_per_rank": options.threads,
        "device": device.type.replace("cuda", "gpu"),
        "device_name": ranks.device_name(device),
        **ranks.cuda_facts(device),
        "backend": backend,
        "own_factors": own_factors,
    }
