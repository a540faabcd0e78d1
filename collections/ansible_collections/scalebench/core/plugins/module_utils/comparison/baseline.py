"""A campaign against an earlier one: per cell the change, its interval, and what follows."""

from __future__ import annotations

from statistics import geometric_mean
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..records.results import MeasuredCell, Results
from ..results.cells import deciding_speeds
from ..stats.log_ratio import LogRatio, difference_p, equivalence_p, holm, interval, log_ratio
from .cell_pairs import cell_pairs, named
from .provenance_changes import provenance_changes

__all__ = ["check_margin", "compare_campaigns"]

# In at most this share of comparisons without any change is any cell called slower or faster.
ALPHA = 0.05
LEVEL = 1 - ALPHA


def compare_campaigns(
    ours: Results, baseline: Results, margin: float, given: str
) -> Dict[str, Any]:
    """Return the comparison of two campaigns as results.json holds it.

    A cell is ``slower`` or ``faster`` where its difference is shown, all cells together at ALPHA
    (Holm), ``equivalent`` where its ratio is shown to lie within the margin, ``different within
    margin`` where both are, and ``undecided`` where neither is, with the reason in ``why``.

    :param ours: results, and ``baseline`` likewise.
    :param margin: share that does not matter, as 0.02.
    :param given: the baseline as the user named it.
    :returns: ``baseline`` (campaign, created, given), ``margin``, ``level``, ``cells``,
        ``not_compared`` (names and ``reason``), and as ``changes`` those of
        ``provenance_changes``. A cell has its names, ``unit``, ``speed`` and ``baseline_speed``
        (geometric means), ``repeats`` and ``baseline_repeats``, ``ratio``, its ``low`` and
        ``high``, ``standard_error`` and ``degrees_of_freedom`` of its logarithm,
        ``p_difference`` (after Holm), ``p_equivalence``, ``finding``, ``why``, and
        ``not_recorded``, conditions that one side does not record.
    :raises ValueError: both are the same campaign; no cell is in both; an invalid margin.
    """
    check_margin(margin)
    if _identity(ours) == _identity(baseline) and _identity(ours)[1]:
        raise ValueError(f"the baseline is the campaign itself, {ours['campaign']}")
    pairs, apart = cell_pairs(ours["cells"], baseline["cells"])
    return {
        "baseline": {
            "campaign": baseline["campaign"],
            "created": baseline["provenance"].get("created"),
            "given": given,
        },
        "margin": margin,
        "level": LEVEL,
        "cells": _compared(pairs, margin),
        "not_compared": apart,
        "changes": provenance_changes(ours["provenance"], baseline["provenance"]),
    }


def check_margin(margin: float) -> None:
    """Refuse an invalid equivalence margin.

    :raises ValueError: it is not above 0 and below 1.
    """
    if not 0 < margin < 1:
        raise ValueError(f"equivalence_margin={margin}: a share above 0 and below 1, e.g. 0.02")


def _identity(results: Results) -> Tuple[Any, ...]:
    known = results["provenance"]
    return results["campaign"], known.get("created"), known.get("sha256")


def _compared(
    pairs: Sequence[Tuple[MeasuredCell, MeasuredCell, List[str]]], margin: float
) -> List[Dict[str, Any]]:
    speeds = [deciding_speeds(cell, other) for cell, other, _ in pairs]
    ratios = [_ratio(*both) for both in speeds]
    tested = [ratio for ratio in ratios if ratio]
    corrected = iter(holm([difference_p(ratio) for ratio in tested]))
    return [
        {
            **named(cell),
            "unit": cell["unit"],
            "not_recorded": unrecorded,
            **_speeds(*both),
            **(
                _judged(ratio, next(corrected), margin)
                if ratio
                else _undecided("one repeat only on a side: nothing is known of its spread")
            ),
        }
        for (cell, other, unrecorded), both, ratio in zip(pairs, speeds, ratios)
    ]


def _ratio(ours: Sequence[float], baseline: Sequence[float]) -> Optional[LogRatio]:
    return log_ratio(ours, baseline) if min(len(ours), len(baseline)) > 1 else None


def _speeds(ours: Sequence[float], baseline: Sequence[float]) -> Dict[str, Any]:
    speed, before = geometric_mean(ours), geometric_mean(baseline)
    return {
        "speed": speed,
        "repeats": len(ours),
        "baseline_speed": before,
        "baseline_repeats": len(baseline),
        "ratio": speed / before,
    }


def _undecided(why: str) -> Dict[str, Any]:
    figures = ("low", "high", "standard_error", "degrees_of_freedom")
    p_values = ("p_difference", "p_equivalence")
    return {**dict.fromkeys((*figures, *p_values)), "finding": "undecided", "why": why}


def _judged(ratio: LogRatio, p_difference: float, margin: float) -> Dict[str, Any]:
    low, high = interval(ratio, LEVEL)
    p_equivalence = equivalence_p(ratio, margin)
    finding, why = "undecided", ""
    if p_difference <= ALPHA:
        finding = "slower" if ratio.estimate < 0 else "faster"
        if p_equivalence <= ALPHA:
            finding = "different within margin"
    elif p_equivalence <= ALPHA:
        finding = "equivalent"
    else:
        why = "too few repeats for their spread to show a difference, or that there is none"
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
