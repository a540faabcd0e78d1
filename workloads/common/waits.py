"""How long this rank waits in every step: for its batch, for the other ranks, and for a core.

A rank reaches the exchange when its own backward pass has computed all gradients, and leaves when
it has their mean. All leave together, so the one that waits least is the one the others wait for,
and no two clocks are compared.
"""

from __future__ import annotations

import statistics
import time

from common.report_lines import put, waiting_line

INTERVALS = 40  # that the steps of a run are divided into, each with one value at the end
FEWEST_STEPS = 10  # between two lines


def seconds_without_core():
    """Return how long this thread was ready to run while others had the cores; None if unknown.

    The second figure of schedstat, in ns (Documentation/scheduler/sched-stats.rst of the kernel).
    """
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return None


class Waits:
    """The waits of one rank; of a single rank not those for others, none without `measured`.

    They are by this thread's clock, for frameworks that compute while they are called. Others have
    their own moments (`now` and `between`, or `exchanged`).

    :param steps: of the whole run, warm-up included.
    :param computes: whether this thread computes, so that its waits for a core are those of a step.
    """

    def __init__(self, place, steps, measured=True, computes=True):
        self.place, self.measured = place, measured
        self.several = measured and place.world_size > 1
        self.every = -(-steps // INTERVALS)
        self.between_lines = max(self.every, FEWEST_STEPS)
        self.seconds, self.inputs, self.steps = [], [], []
        self.no_core = seconds_without_core() if measured and computes else None
        self._all_steps, self._no_core_of = steps, None
        self._before = time.perf_counter()
        self._asked = self._given = self._reached = self._left = None

    def now(self):
        """Return this moment."""
        return time.perf_counter()

    def between(self, begin, end):
        """Return the seconds between two moments of a step that has ended."""
        return end - begin

    def take(self, feed):
        """Return the next batch, and note how long it takes."""
        self._asked = self.now()
        batch = next(feed)
        self._given = self.now()
        return batch

    def reach(self, *_):
        """Note that this rank has computed its gradients."""
        self._reached = self.now()

    def leave(self):
        """Note that the gradients are exchanged."""
        if self.several:
            self._left = self.now()

    def exchanged(self, reached, left):
        """Note both moments of the exchange, by any clock that counts seconds."""
        if self.several:
            self._reached, self._left = reached, left

    def end_step(self):
        """Keep this step's waits, once the device has done it; at times print a line."""
        now = time.perf_counter()
        self.steps.append(now - self._before)
        self._before = now
        count = len(self.steps)
        # Not after the last step: what follows is no part of any. Not in each: it takes 12 us.
        if self.no_core is not None and (count % self.every == 0 or count == self._all_steps):
            self._no_core_of = (seconds_without_core(), count)
        if self.measured and self._asked is not None:
            self.inputs.append(self.between(self._asked, self._given))
            self._asked = None  # nothing is taken in the last step
        if not self.several:
            return
        self.seconds.append(self.between(self._reached, self._left))
        done = len(self.seconds)
        if done % self.between_lines == 0:
            last = statistics.mean(self.seconds[-self.between_lines :])
            put(waiting_line(self.place.rank, done, last))

    def facts(self):
        """Return what the line of this rank states at the end; None where nothing is measured."""
        if not self.measured or not self.steps:
            return None
        means = [
            statistics.mean(self.seconds[start : start + self.every])
            for start in range(0, len(self.seconds), self.every)
        ]
        who = self.place.facts()
        known = {}
        if self._no_core_of is not None:
            without, count = self._no_core_of
            known["core_wait_seconds"] = round((without - self.no_core) / count, 6)
        if self.inputs:
            known["input_seconds"] = round(statistics.mean(self.inputs), 6)
        return {
            "rank": who["rank"],
            "node": who["node"],
            "every": self.every,
            "wait_seconds": [round(mean, 6) for mean in means],
            "step_seconds": round(statistics.median(self.steps), 6),
            **known,
        }
