"""Holm's correction: many tests at once, and still few false alarms in all of them together."""

from __future__ import annotations

from typing import List, Sequence

__all__ = ["holm"]


def holm(p_values: Sequence[float]) -> List[float]:
    """Return the adjusted p values, in the order given.

    Of those at or below a limit as 0.05, one or more is a false alarm with at most this
    probability, however the tests depend on each other: Holm, "A simple sequentially rejective
    multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
