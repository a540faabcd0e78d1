"""Bisecting an ordered list of versions for the first slow one, with a stated error.

Each step compares one version with the first, the good end, in rounds of both, until the interval
of the difference decides or there are no more rounds. It looks after 4, 8, 16 … rounds only, and
all looks of all steps share the error (Bonferroni), so that looking often does not raise it.
"""

from __future__ import annotations

import math
from typing import List, NamedTuple, Optional, Sequence, Tuple

from .log_ratio import LogRatio, interval
from .paired import paired_ratio

__all__ = ["ERROR", "FIRST_LOOK", "MOST_ROUNDS", "Bisection", "Step"]

# The probability that a wrong version is named, where the versions before the first slow one are
# alike and those from it on are slower than the good end by half of what the last is, or more.
ERROR = 0.05
FIRST_LOOK, MOST_ROUNDS = 4, 32


class Step(NamedTuple):
    """One comparison: the version, its rounds, its ratio to the good end with bounds, and verdict.

    ``verdict`` is slow, not slow or undecided.
    """

    version: str
    rounds: List[int]
    ratio: Optional[float]
    low: Optional[float]
    high: Optional[float]
    verdict: str


class Bisection:
    """The search as far as it is known; :meth:`tell` it what the rounds of ``batch`` gave.

    The last version is the first candidate. It is slow where its whole interval lies below half of
    the estimated change (of logarithms). That half is the limit for the others: slow where the
    whole interval lies below it, not slow where above it. Only steps before them set the limit.

    :ivar batch: the numbers of the rounds that are to run, or to tell, next; empty at the end.
    :ivar candidate: the version that they compare with the first.
    :ivar steps: the decided comparisons.

    :param versions: in order, two or more; the first is the good end.
    :param most: rounds of a step at most.
    :raises ValueError: fewer versions, or rounds than a step needs.
    """

    def __init__(self, versions: Sequence[str], most: int = MOST_ROUNDS) -> None:
        if len(versions) < 2 or most < FIRST_LOOK:
            raise ValueError(
                f"bisecting needs two versions and {FIRST_LOOK} rounds of a step, not"
                f" {len(versions)} and {most}"
            )
        self.versions = list(versions)
        self.steps: List[Step] = []
        self._looks = _looks(most)
        comparisons = 1 + math.ceil(math.log2(len(versions) - 1))
        self._level = 1 - ERROR / (comparisons * len(self._looks))
        # The first slow version is after `_good` and not after `_bad`.
        self._good, self._bad = 0, len(versions) - 1
        self._limit: Optional[float] = None
        self._numbers: List[int] = []
        self._pairs: List[Tuple[float, float]] = []
        self._next = 1
        self._begin(self._bad)

    @property
    def found(self) -> Optional[str]:
        """Return the first slow version, None where it is not known."""
        is_found = not self.batch and self._limit is not None and self._bad - self._good == 1
        return self.versions[self._bad] if is_found else None

    @property
    def left(self) -> List[str]:
        """Return the versions that can be the first slow one, as far as the steps tell."""
        return self.versions[self._good + 1 : self._bad + 1]

    def tell(self, pairs: Sequence[Tuple[float, float]]) -> None:
        """Take the throughputs, of the candidate and the good end, of the rounds of ``batch``.

        :param pairs: of the rounds in which both gave one.
        """
        self._numbers += self.batch
        self._pairs += pairs
        ratio = paired_ratio(*zip(*self._pairs)) if len(self._pairs) > 1 else None
        verdict = self._verdict(ratio) if ratio else "undecided"
        larger = [look for look in self._looks if look > len(self._numbers)]
        if verdict == "undecided" and larger:
            self._ask(larger[0] - len(self._numbers))
            return
        self._settle(ratio, verdict)

    def _verdict(self, ratio: LogRatio) -> str:
        low, high = (math.log(bound) for bound in interval(ratio, self._level))
        limit = ratio.estimate / 2 if self._limit is None else self._limit
        if limit < 0 and high < limit:
            return "slow"
        return "not slow" if self._limit is not None and low > limit else "undecided"

    def _settle(self, ratio: Optional[LogRatio], verdict: str) -> None:
        low, high = interval(ratio, self._level) if ratio else (None, None)
        estimate = math.exp(ratio.estimate) if ratio else None
        self.steps.append(Step(self.candidate, self._numbers, estimate, low, high, verdict))
        self.batch: List[int] = []
        if verdict == "undecided":
            return
        if self._limit is None and ratio:
            self._limit = ratio.estimate / 2
        place = self.versions.index(self.candidate)
        if verdict == "slow":
            self._bad = place
        else:
            self._good = place
        if self._bad - self._good > 1:
            self._begin((self._good + self._bad) // 2)

    def _begin(self, place: int) -> None:
        self.candidate = self.versions[place]
        self._numbers, self._pairs = [], []
        self._ask(FIRST_LOOK)

    def _ask(self, count: int) -> None:
        self.batch = list(range(self._next, self._next + count))
        self._next += count


def _looks(most: int) -> List[int]:
    """Return after how many rounds of a step it looks: 4, 8, 16 … and at the end."""
    looks = []
    look = FIRST_LOOK
    while look < most:
        looks.append(look)
        look *= 2
    return [*looks, most]
