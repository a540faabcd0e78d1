"""How long this rank waits for the others in every step, measured without a wait of its own.

A rank reaches the exchange when its own backward pass has computed all gradients, and leaves when
DistributedDataParallel has their mean. All leave together, so the one that waits least is the one
the others wait for, and no two clocks are compared. With sharded weights (FSDP2) ranks wait for
each other at every block, which this does not measure.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch
import torch.distributed as dist

from common.ranks import Place
from common.report_lines import put, waiting_line

INTERVALS = 40  # that the steps of a run are divided into, each with one value at the end
FEWEST_STEPS = 10  # between two lines


def seconds_without_core() -> float | None:
    """Return how long this thread was ready to run while others had the cores; None if unknown.

    The second figure of schedstat, in ns (Documentation/scheduler/sched-stats.rst of the kernel).
    """
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return None


class Waits:
    """The waits of one rank; of a single rank only those for a core, none without `measured`.

    On a GPU the moments are events on its stream, read once a step has ended anyway.

    :param steps: of the whole run, warm-up included.
    """

    def __init__(
        self, place: Place, device: torch.device, steps: int, measured: bool = True
    ) -> None:
        self.place, self.on_gpu = place, device.type == "cuda"
        self.measured = measured and dist.is_initialized() and place.world_size > 1
        self.every = -(-steps // INTERVALS)
        self.between_lines = max(self.every, FEWEST_STEPS)
        self.seconds: list[float] = []
        self.ends = [time.perf_counter()]
        self.no_core = seconds_without_core() if measured and not self.on_gpu else None
        self._reached: Any = None
        self._left: Any = None

    def before_backward(self, loss: torch.Tensor) -> None:
        """Have the end of this rank's own backward pass noted.

        Autograd calls what was queued during a backward pass at its end, in order. This is queued
        with the first gradient, and DistributedDataParallel's wait for the exchange with the last.
        """
        if self.measured:
            loss.register_hook(self._queue)

    def after_backward(self) -> None:
        """Note that the gradients are exchanged."""
        if self.measured:
            self._left = self._now()

    def end_step(self) -> None:
        """Keep this step's wait, once the device has done it; at times print a line."""
        self.ends.append(time.perf_counter())
        if not self.measured:
            return
        if self.on_gpu:
            waited = self._reached.elapsed_time(self._left) / 1000
        else:
            waited = self._left - self._reached
        self.seconds.append(waited)
        steps = len(self.seconds)
        if steps % self.between_lines == 0:
            last = statistics.fmean(self.seconds[-self.between_lines :])
            put(waiting_line(self.place.rank, steps, last))

    def facts(self) -> dict[str, Any] | None:
        """Return what the line of this rank states at the end; None where nothing is measured."""
        steps = [end - begin for begin, end in zip(self.ends, self.ends[1:], strict=False)]
        if not steps or (not self.measured and self.no_core is None):
            return None
        means = [
            statistics.fmean(self.seconds[start : start + self.every])
            for start in range(0, len(self.seconds), self.every)
        ]
        who = self.place.facts()
        without = None if self.no_core is None else seconds_without_core()
        facts = {}
        if without is not None:
            facts["core_wait_seconds"] = round((without - self.no_core) / len(steps), 6)
        return {
            "rank": who["rank"],
            "node": who["node"],
            "every": self.every,
            "wait_seconds": [round(mean, 6) for mean in means],
            "step_seconds": round(statistics.median(steps), 6),
            **facts,
        }

    def _queue(self, gradient: torch.Tensor) -> None:
        torch.autograd.Variable._execution_engine.queue_callback(self._reach)

    def _reach(self) -> None:
        self._reached = self._now()

    def _now(self) -> Any:
        if not self.on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event
