"""The figures of a cell's model and steps: the medians of those of its repeats."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, cast

from ..records.results import Repeat
from ..records.runs import Figures
from ..stats.statistics import median

__all__ = ["cell_figures"]

# Of these the largest counts.
_LARGEST = ("peak_memory_bytes",)


def cell_figures(repeats: Sequence[Repeat]) -> Optional[Figures]:
    """Return the median of each figure over the repeats with a speed that have it; None without.

    Of memory it is the largest; texts that differ stand one after the other.
    """
    known = [
        one["figures"] for one in repeats if one["throughput"] is not None and "figures" in one
    ]
    return cast(Figures, _middle(known)) if known else None


def _middle(known: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    names = dict.fromkeys(name for figures in known for name in figures)
    return {name: _of(name, [each[name] for each in known if name in each]) for name in names}


def _of(name: str, values: List[Any]) -> Any:
    if isinstance(values[0], dict):
        return _middle(values)
    if isinstance(values[0], str):
        return "; ".join(dict.fromkeys(values))
    return max(values) if name in _LARGEST else median(values)
