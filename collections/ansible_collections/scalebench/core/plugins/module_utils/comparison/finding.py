"""What the ratio of two speeds shows: slower, faster, equivalent, or nothing yet."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ..stats.log_ratio import EQUIVALENCE_ALPHA, LogRatio, equivalence_p, interval

__all__ = ["ALPHA", "LEVEL", "found", "undecided"]

# In at most this share of comparisons without any change is any cell called slower or faster.
ALPHA = 0.05
LEVEL = 1 - ALPHA


def found(
    ratio: LogRatio,
    p_difference: float,
    margin: float,
    what: str,
    direction: Optional[float] = None,
) -> Dict[str, Any]:
    """Return interval, p values, ``finding`` and ``why``.

    ``why`` is set where it is undecided, or where the interval does not show the same.

    :param p_difference: corrected for all comparisons.
    :param margin: largest share by which equivalent speeds differ.
    :param what: of what there were too few (``repeats``).
    :param direction: below 0 where the test of a difference shows that ours is slower; None: it is
        that of the ratio, by the same t as the interval.
    """
    low, high = interval(ratio, LEVEL)
    p_equivalence = equivalence_p(ratio, margin)
    finding, why = "undecided", ""
    if p_difference <= ALPHA:
        slower = (ratio.estimate if direction is None else direction) < 0
        finding = "slower" if slower else "faster"
        if direction is not None and (high >= 1 if slower else low <= 1):
            why = f"shown by the ranks of the {what}; the interval is that of their mean"
        if p_equivalence <= EQUIVALENCE_ALPHA:
            finding = "different within margin"
    elif p_equivalence <= EQUIVALENCE_ALPHA:
        finding = "equivalent"
    else:
        why = f"too few {what} for their spread to show a difference, or that there is none"
    return {
        "low": low,
        "high": high,
        "standard_error": ratio.standard_error,
        "degrees_of_freedom": ratio.degrees_of_freedom,
        "p_difference": p_difference,
        "p_equivalence": p_equivalence,
        "finding": finding,
        "why": why,
    }


def undecided(why: str) -> Dict[str, Any]:
    """Return the same keys where nothing is known of the spread."""
    figures = ("low", "high", "standard_error", "degrees_of_freedom")
    p_values = ("p_difference", "p_equivalence")
    return {**dict.fromkeys((*figures, *p_values)), "finding": "undecided", "why": why}
