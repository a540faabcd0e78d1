"""When the repeats of a campaign ran, and for how long in all."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any, Iterable, List, Mapping, Optional, Tuple

__all__ = ["ended_at", "seconds_under_load"]


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
