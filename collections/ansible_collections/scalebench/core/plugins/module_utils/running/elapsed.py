"""When repeats ran and for how long, and their speed by the time that their steps took."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any, Iterable, List, Mapping, Optional, Tuple

from ..records.runs import LogFacts
from ..strategies import STRATEGIES
from .invariants import is_throughput

__all__ = ["Speeds", "elapsed_throughput", "ended_at", "round_of", "seconds_under_load"]

# By the rule, and by the time of the steps where the log tells it.
Speeds = Tuple[Optional[float], Optional[float]]
# Sources of a strategy whose throughput is samples over time already.
_TIMED = ("wall_clock", "cumulative")


def ended_at(record: Mapping[str, Any]) -> Optional[float]:
    """Return when a repeat was recorded, right after its end, in seconds since 1970.

    :param record: a run record, or a repeat of results.json; None where it does not tell.
    """
    try:
        at = datetime.fromisoformat(str(record.get("recorded") or "")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return at if math.isfinite(at) else None


def seconds_under_load(records: Iterable[Mapping[str, Any]]) -> float:
    """Return the seconds in which at least one repeat ran.

    Repeats that ran at the same time count once. Of a record without a time, as those of schema 1,
    the seconds are added.

    :param records: run records, or repeats of results.json.
    """
    spans: List[Tuple[float, float]] = []
    total = 0.0
    for record in records:
        seconds, end = record.get("seconds") or 0.0, ended_at(record)
        if end is None:
            total += seconds
        else:
            spans.append((end - seconds, end))
    reached = -math.inf
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def elapsed_throughput(facts: LogFacts) -> Optional[float]:
    """Return the samples of the measured steps over the time that these steps took.

    That is the harmonic mean of the rates where the rule takes another mean of them (the clock of
    a log often shows whole seconds), and the rule's own figure where that is samples over time. A
    mean of rates is higher (Jensen's inequality): one step of 100 that takes ten times as long
    costs 8.3 % of the samples per second, and 0.9 % of the mean of the rates.

    :returns: in the unit of the throughput; None where the log does not tell, as where the rule
        takes a figure that the log itself reckoned, or the last of its running averages.
    """
    strategy: Mapping[str, Any] = facts.get("strategy") or {}
    rule = STRATEGIES.get(strategy.get("name", ""), {})
    if rule.get("source") in _TIMED:
        return facts["throughput"]
    average = {**rule, **strategy.get("parameters", {})}.get("average")
    harmonic = facts.get("harmonic_throughput") if rule.get("source") == "observations" else None
    return harmonic if average != "last" and is_throughput(harmonic) else None


def round_of(ours: Speeds, theirs: Speeds) -> Optional[Tuple[float, float]]:
    """Return the two speeds of a round by the same measure, by the time of the steps if possible.

    None where a repeat gave no throughput.
    """
    if ours[0] is None or theirs[0] is None:
        return None
    if ours[1] is None or theirs[1] is None:
        return ours[0], theirs[0]
    return ours[1], theirs[1]
