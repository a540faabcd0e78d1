"""What a trainer measures itself, for the end line: its steps, the way to the first one, MFU."""

from __future__ import annotations

import time

from common.process import seconds_since_launch


class FirstStep:
    """The time from the start of the launcher to the end of the first iteration, in parts.

    Made when the program starts: what was before is the part ``launch``.
    """

    def __init__(self):
        self.seconds = {"launch": seconds_since_launch()}
        self._before = time.perf_counter()

    def end(self, part):
        """Count the time since the end of the part before as `part`."""
        now = time.perf_counter()
        self.seconds[part] = now - self._before
        self._before = now


class TimedLine:
    """The form of an iteration's line that also keeps the time of each iteration.

    :param line: of ``common.report_lines``.
    :param first_step: whose last part ends with the first iteration.
    :param stated: what the form takes besides the values of an iteration.
    """

    def __init__(self, line, first_step, units_per_sample=1, **stated):
        self.line, self.first_step, self.stated = line, first_step, stated
        self.units_per_sample = units_per_sample
        self.seconds = []

    def __call__(self, **values):
        if not self.seconds:
            self.first_step.end("first_step")
        self.seconds.append(values["seconds"])
        values["samples"] *= self.units_per_sample
        return self.line(**values, **self.stated)


def quantile(values, share):
    """Return the value below which `share` of the values lie, between two of them on a line.

    Type 7 of Hyndman and Fan 1996, "Sample quantiles in statistical packages".
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def figures(steps, first_step, peak_memory_mib, units, flops, peak, source):
    """Return the figures of a run, JSON values; those of the peak are None where it is unknown.

    Operations per second are by the first convention and of all ranks, over the sum of the measured
    steps' times, as is the rate that the shares of the peak are of.

    :param steps: seconds of the measured iterations.
    :param first_step: seconds by part.
    :param peak_memory_mib: of the rank with the most.
    :param units: that one iteration of all ranks counts.
    :param flops: operations of a unit by convention.
    :param peak: operations per second of all ranks together, and of one rank.
    :param source: where the peak is from.
    """
    rate = units * len(steps) / sum(steps)
    of_all, of_one = peak or (None, None)
    return {
        "step_seconds_p50": round(quantile(steps, 0.5), 6),
        "step_seconds_p99": round(quantile(steps, 0.99), 6),
        "first_step": {part: round(seconds, 3) for part, seconds in first_step.items()},
        "peak_memory_bytes": round(peak_memory_mib * (1 << 20)),
        "flops_per_second": next(iter(flops.values())) * rate,
        "mfu": of_all and {name: of * rate / of_all for name, of in flops.items()},
        "peak_flops_per_second": of_one,
        "peak_source": source,
    }
