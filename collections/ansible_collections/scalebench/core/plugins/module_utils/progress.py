"""How far a campaign is: what is done, what it took, what is left."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

from .plan_text import duration

__all__ = ["Progress", "remaining_seconds"]


def remaining_seconds(
    expected: Sequence[float], taken: Sequence[float], current: float
) -> Optional[float]:
    """Return the seconds that are left, None where nothing tells.

    The repeats to come are expected to be off by the factor by which the done ones were.

    :param expected: expected seconds of every repeat in order; 0 where unknown.
    :param taken: seconds of those that are done.
    :param current: seconds that the one in hand has run.
    """
    count = len(taken)
    known = sum(expected[:count])
    if known > 0:
        factor = sum(taken) / known
        left = sum(expected[count:]) * factor
    elif count:
        left = sum(taken) / count * (len(expected) - count)
    else:
        left = sum(expected)
        if left <= 0:
            return None
    return max(left - current, 0.0)


class Progress:
    """The state of a running campaign.

    :param missing: the repeats to run, in order, as of module campaign_plan.
    """

    def __init__(self, campaign: str, missing: Sequence[Mapping[str, Any]]) -> None:
        self.campaign = campaign
        self._names = [repeat["log"][5:-4] for repeat in missing]
        self._expected = [float(repeat.get("seconds") or 0) for repeat in missing]
        self._taken: List[float] = []
        self.failed = 0
        self.last = ""

    @property
    def total(self) -> int:
        """Number of repeats to run."""
        return len(self._names)

    @property
    def done(self) -> int:
        """Number of repeats that have ended, well or not."""
        return len(self._taken)

    @property
    def current(self) -> str:
        """Name of the repeat in hand; empty when all are done."""
        return self._names[self.done] if self.done < self.total else ""

    def left(self, current: float) -> str:
        """Return the remaining time in words, ``current`` seconds into the repeat in hand."""
        seconds = remaining_seconds(self._expected, self._taken, current)
        return "time left unknown" if seconds is None else f"about {duration(seconds)} left"

    def end(self, ended: Mapping[str, Any], seconds: float) -> str:
        """Take a repeat as ended and return its line.

        :param ended: what repeat_record returned.
        :param seconds: wall time since the repeat before it ended, its overhead included.
        """
        name = self.current
        self._taken.append(seconds)
        place = f"[{self.done}/{self.total}]"
        if ended["ending"] == "ok":
            self.last = f"{ended['throughput']:.2f} {ended['unit']}"
            outcome = f"{self.last:>18}"
        else:
            self.failed += 1
            outcome = f"{ended['ending']}: {ended['reason']}"
        left = f", {self.left(0)}" if self.done < self.total else ""
        return f"{place:>8} {name:<36} {outcome}  ({duration(seconds)}{left})"
