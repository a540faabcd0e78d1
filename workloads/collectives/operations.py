"""Collectives of torch.distributed on this rank."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from collectives.timed import PERIOD, header_facts
from common import pytorch_ranks as ranks
from common.ranks import Place, keep_freed_memory


class Operation:
    """One collective with its buffers; see ``timed.Operation``.

    :param count: elements of the whole message.
    """

    def __init__(self, name: str, count: int, place: Place, device: torch.device) -> None:
        size, rank = place.world_size, place.rank
        self.place, self.device = place, device
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
        elif name == "sendrecv":
            self.expected = self.ramp + (rank - 1) % size
            call = self._send_receive
        else:
            raise ValueError(f"{name} is no operation of this library")
        self.call = call
        self.run = self._run_on_gpu if device.type == "cuda" else call

    def fill(self) -> None:
        """Give the buffer this rank's values, and the result none of the right ones."""
        self.result.fill_(-1.0)
        self.buffer.copy_(self.ramp[: self.buffer.numel()])
        self.buffer.add_(self.place.rank)

    def _run_on_gpu(self) -> None:
        self.call()
        torch.cuda.synchronize(self.device)

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


class TorchDistributed:
    """The ranks of a torchrun job, over gloo on CPUs and NCCL on GPUs, as a ``timed.Library``.

    :raises StoppedError: there is no device.
    """

    def __init__(self, options: Namespace) -> None:
        self.place = ranks.find_place()
        self.device = ranks.choose_device(options.device, self.place)
        torch.set_num_threads(options.threads)
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        else:
            keep_freed_memory()
        timeout = timedelta(seconds=options.collective_timeout)
        self.backend = ranks.join(self.place, self.device, timeout)

    def header(self, options: Namespace, own_factors: dict[str, Any]) -> dict[str, Any]:
        """Return what the header line states."""
        return {
            **header_facts(options, self.place, own_factors),
            "framework": "pytorch",
            "framework_version": torch.__version__,
            "device": self.device.type.replace("cuda", "gpu"),
            "device_name": ranks.device_name(self.device),
            **ranks.cuda_facts(self.device),
            "backend": self.backend,
        }

    def operation(self, name: str, count: int) -> Operation:
        """Return a collective of so many elements of fp32."""
        return Operation(name, count, self.place, self.device)

    def gather(self, value: Any) -> list[Any]:
        """Return every rank's value, by rank, on every rank."""
        return ranks.gather(self.place, value)

    def synchronise(self) -> None:
        """Wait until all ranks and their devices are ready."""
        ranks.synchronise(self.place, self.device)

    def peak_memory(self) -> float:
        """Return this rank's peak in MiB: allocated on a GPU, else resident memory."""
        return ranks.peak_memory(self.device)

    def leave(self) -> None:
        """Disconnect from the other ranks once all are done."""
        ranks.leave(self.place)
