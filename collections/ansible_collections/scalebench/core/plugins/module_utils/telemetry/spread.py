"""Least, mean and greatest of many values, without keeping them."""

from __future__ import annotations

from typing import Dict

__all__ = ["Spread"]


class Spread:
    """The spread of the values seen, in their own unit."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0
        self._least = float("inf")
        self._greatest = float("-inf")

    def add(self, value: float) -> None:
        """Take one value in."""
        self._count += 1
        self._sum += value
        self._least = min(self._least, value)
        self._greatest = max(self._greatest, value)

    def summary(self) -> Dict[str, float]:
        """Return ``min``, ``mean`` and ``max``; nothing where no value was seen."""
        if not self._count:
            return {}
        return {
            "min": round(self._least, 3),
            "mean": round(self._sum / self._count, 3),
            "max": round(self._greatest, 3),
        }
