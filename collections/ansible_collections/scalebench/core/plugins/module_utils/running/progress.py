"""The progress of a running campaign: what has ended, what it took, how long the rest takes."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

from ..layout.table import shown
from ..planning.plan_text import duration

__all__ = ["Progress", "remaining_seconds"]


def remaining_seconds(
    expected: Sequence[float], taken: Sequence[float], current: float
) -> Optional[float]:
    """Return the seconds that are left, None where nothing is known.

    The remaining waves are expected to be off by the factor by which those that have ended were. A
    wave that takes longer than expected takes no time from those after it.

    :param expected: expected seconds of every wave in order; 0 where unknown.
    :param taken: seconds of the waves that have ended.
    :param current: seconds that the current wave has run.
    """
    count = len(taken)
    known = sum(expected[:count])
    if known > 0:
        left = [seconds * sum(taken) / known for seconds in expected[count:]]
    elif count:
        left = [sum(taken) / count] * (len(expected) - count)
    else:
        left = list(expected)
    if sum(left) <= 0:
        return None
    return max(left[0] - current, 0.0) + sum(left[1:])


class Progress:
    """The state of a running campaign; waves are added as they are planned."""

    def __init__(self, campaign: str) -> None:
        self.campaign = campaign
        self._waves: List[List[str]] = []
        self._expected: List[float] = []
        self._taken: List[float] = []
        self.done = 0
        self.failed = 0
        self.last = ""

    def add(self, waves: Sequence[Mapping[str, Any]]) -> None:
        """Add waves to run, as module campaign_plan returned them."""
        for wave in waves:
            self._waves.append([_name(repeat) for repeat in wave["repeats"]])
            self._expected.append(float(wave["seconds"]))

    @property
    def total(self) -> int:
        """Number of repeats to run."""
        return sum(len(names) for names in self._waves)

    @property
    def current(self) -> str:
        """Names of the repeats that run now; empty when all have ended."""
        count = len(self._taken)
        return ", ".join(self._waves[count]) if count < len(self._waves) else ""

    def left(self, current: float) -> str:
        """Return the remaining time in words, ``current`` seconds into the current wave."""
        seconds = remaining_seconds(self._expected, self._taken, current)
        if seconds is None:
            return "time left unknown"
        return f"about {duration(seconds)} left" if seconds else "longer than estimated"

    def end(self, records: Sequence[Mapping[str, Any]], seconds: float) -> List[str]:
        """Mark the current wave as ended and return a line for each of its repeats.

        :param records: the ``records`` that repeat_record returned, in the wave's order.
        :param seconds: wall time since the wave before it ended, its overhead included.
        """
        self._taken.append(seconds)
        lines = []
        for ended in records:
            self.done += 1
            took = duration(seconds)
            if ended["ending"] == "ok":
                self.last = f"{shown(ended['throughput'], 2)} {ended['unit']}"
                outcome = f"{self.last:>18}"
            else:
                self.failed += 1
                outcome = f"{ended['ending']}: {ended['reason']}"
            left = f", {self.left(0)}" if self.current else ""
            place = f"[{self.done}/{self.total}]"
            lines.append(f"{place:>8} {_name(ended):<36} {outcome}  ({took}{left})")
        return lines


def _name(repeat: Mapping[str, Any]) -> str:
    return str(repeat["log"][len("logs/") : -len(".log")])
