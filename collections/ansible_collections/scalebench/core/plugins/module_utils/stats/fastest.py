"""Which of several sets of repeats is the fastest, when the noise of the repeats lets one say."""

from __future__ import annotations

from typing import Mapping, Optional, Sequence

from .median_ratio import ratio_of_medians

__all__ = ["LEVEL", "fastest"]

LEVEL = 0.95


def fastest(speeds: Mapping[str, Sequence[float]], level: float = LEVEL) -> Optional[str]:
    """Return whose median is above each other one beyond noise; None where nobody's is.

    Each comparison is made at the level that keeps all of them together at ``level`` (Bonferroni),
    so that of equals one is called the fastest in at most 1 - level of the cases.

    :param speeds: of the repeats, by name.
    """
    others = len(speeds) - 1
    if others < 1:
        return None
    for name, own in speeds.items():
        rest = [runs for other, runs in speeds.items() if other != name]
        lows = [ratio_of_medians(own, runs, 1 - (1 - level) / others)["low"] for runs in rest]
        if all(low is not None and low > 1 for low in lows):
            return name
    return None
