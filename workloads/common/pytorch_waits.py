"""How long this rank waits in every step of PyTorch, measured without a wait of its own.

DistributedDataParallel has exchanged the gradients when the backward pass returns. With sharded
weights (FSDP2) ranks wait for each other at every block, which this does not measure.
"""

from __future__ import annotations

from typing import Any

import torch

from common.ranks import Place
from common.waits import Waits


class PytorchWaits(Waits):
    """The waits of one rank of PyTorch.

    On a GPU the moments are events on its stream, read once a step has ended anyway. There the wait
    for a batch begins when the device has done the step before, so only what is not hidden counts.
    """

    def __init__(
        self, place: Place, device: torch.device, steps: int, measured: bool = True
    ) -> None:
        self.on_gpu = device.type == "cuda"
        super().__init__(place, steps, measured, computes=not self.on_gpu)

    def before_backward(self, loss: torch.Tensor) -> None:
        """Have the end of this rank's own backward pass noted.

        Autograd calls what was queued during a backward pass at its end, in order. This is queued
        with the first gradient, and DistributedDataParallel's wait for the exchange with the last.
        """
        if self.several:
            loss.register_hook(self._queue)

    def now(self) -> Any:
        if not self.on_gpu:
            return super().now()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, begin: Any, end: Any) -> float:
        return begin.elapsed_time(end) / 1000 if self.on_gpu else super().between(begin, end)

    def _queue(self, gradient: torch.Tensor) -> None:
        torch.autograd.Variable._execution_engine.queue_callback(self.reach)
