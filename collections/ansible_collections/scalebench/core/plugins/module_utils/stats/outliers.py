"""Which values of a series stand apart from the others."""

from __future__ import annotations

import statistics
from typing import List, Sequence

__all__ = ["CUT", "LEAST", "MAD_TO_SD", "outliers"]

# Iglewicz and Hoaglin 1993, How to detect and handle outliers: modified z-scores above this.
CUT = 3.5
# The median absolute deviation of normal values times this is their standard deviation.
MAD_TO_SD = 1 / 0.6745
# Of 8 normal values 2 in 100 are told, of 20 of them 0.7; of 5 it were 5 (simulated).
LEAST = 8


def outliers(values: Sequence[float]) -> List[int]:
    """Return the indexes of the values whose modified z-score is above 3.5.

    The score is 0.6745 (value - median) / MAD. None is told of fewer than ``LEAST`` values, nor
    where more than half of them are equal, which leaves no scale.

    :param values: of one quantity at one level, in any unit and order.
    """
    if len(values) < LEAST:
        return []
    centre = statistics.median(values)
    scale = MAD_TO_SD * statistics.median(abs(value - centre) for value in values)
    return [
        index for index, value in enumerate(values) if scale and abs(value - centre) > CUT * scale
    ]
