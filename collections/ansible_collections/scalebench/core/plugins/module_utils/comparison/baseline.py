"""A campaign against earlier ones: per cell the change, its interval, and what follows."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..records.results import Results
from ..stats.levels import new_day_ratio
from ..stats.log_ratio import (
    LogRatio,
    check_margin,
    difference_p,
    holm,
)
from .cell_figures import NEW_DAY, SAME_DAY, cell_figures, known_days, origin
from .cell_pairs import Matched, cell_pairs, named
from .finding import LEVEL, found, undecided
from .provenance_changes import provenance_changes

__all__ = ["compare_campaigns"]


def compare_campaigns(
    ours: Results,
    baselines: Sequence[Results],
    margin: float,
    given: str,
    history: Sequence[Results] = (),
) -> Dict[str, Any]:
    """Return the comparison of a campaign with a baseline as results.json holds it.

    A cell is ``slower`` or ``faster`` where its difference is shown, all cells together at ALPHA
    (Holm), ``equivalent`` where its ratio is shown to lie within the margin, ``different within
    margin`` where both are, and ``undecided`` where neither is, with the reason in ``why``.

    :param ours: results, and ``baselines`` those of each campaign of the baseline.
    :param margin: share that does not matter, as 0.02.
    :param given: the baseline as the user named it.
    :param history: results of other campaigns of the same hardware and plan, which show how days
        differ.
    :returns: ``baseline`` (campaign, created, given; of several the latest), ``baselines``
        (campaign, created, ``day`` in UTC, empty where it is not known), ``margin``, ``level``,
        ``scope``, ``cells``, ``not_compared`` (names and ``reason``), and as ``changes`` those of
        ``provenance_changes`` since the latest baseline. The caller adds ``not_chosen``, each
        ``reason`` with the ``campaigns`` that ``last:4`` did not take. A cell has its names,
        ``unit``, ``speed`` and ``baseline_speed`` (geometric means; of several days that of the
        days), ``repeats`` and ``baseline_repeats``, ``ratio``, its ``low`` and ``high``,
        ``standard_error`` and ``degrees_of_freedom`` of its logarithm, ``p_difference`` (after
        Holm), ``p_equivalence``, ``finding``, ``why``, ``not_recorded``, conditions that one side
        does not record, and:

        - ``scope``: SAME_DAY where one day is known, so that nothing is known of how days differ,
          else NEW_DAY. That of the comparison is SAME_DAY if any cell's is.
        - ``days``: how many the cell's baseline has; ``known_days``: with those of ``earlier``
          campaigns (``campaign``, ``day``, ``speeds``), which show how days differ and are no part
          of the baseline's mean; ``run_sd`` and ``day_sd``: the standard deviations of runs within
          a day and of days, as shares, None where not known.
        - ``speeds``: throughputs of our repeats; ``baseline_groups``: of each campaign of the
          baseline that has the cell, a list; ``baseline_campaigns`` and ``baseline_days``: the
          name and day of each; ``left_out``: ``campaign`` and ``reason`` of the others.
        - ``outlying``: ``campaign``, ``repeat`` and ``throughput`` of the runs on both sides that
          lie too far from the others of their campaign; they are part of every figure here.
    :raises ValueError: the campaign itself is in the baseline, or one twice; no cell is in both; an
        invalid margin.
    """
    check_margin(margin)
    baselines = sorted(baselines, key=lambda one: str(one["provenance"].get("created") or ""))
    _check_apart(ours, baselines)
    matched, apart = cell_pairs(ours["cells"], baselines)
    origins = [origin(one) for one in baselines]
    known = {_identity(one) for one in (ours, *baselines)}
    others = [one for one in history if _identity(one) not in known]
    cells = _compared(ours, matched, origins, margin, others)
    latest = baselines[-1]
    return {
        "baseline": {
            "campaign": latest["campaign"],
            "created": latest["provenance"].get("created"),
            "given": given,
        },
        "baselines": origins,
        "margin": margin,
        "level": LEVEL,
        "scope": NEW_DAY if all(cell["scope"] == NEW_DAY for cell in cells) else SAME_DAY,
        "cells": cells,
        "not_compared": apart,
        "changes": provenance_changes(ours["provenance"], latest["provenance"]),
    }


def _identity(results: Results) -> Tuple[Any, ...]:
    known = results["provenance"]
    return results["campaign"], known.get("created"), known.get("sha256")


def _check_apart(ours: Results, baselines: Sequence[Results]) -> None:
    """Refuse a campaign against itself, and one that is twice in the baseline."""
    seen = []
    for one in baselines:
        identity = _identity(one)
        if identity == _identity(ours) and identity[1]:
            raise ValueError(f"the baseline is the campaign itself, {ours['campaign']}")
        if identity in seen:
            raise ValueError(f"campaign {one['campaign']} is in it twice")
        seen.append(identity)


def _compared(
    ours: Results,
    matched: Sequence[Matched],
    origins: Sequence[Mapping[str, Any]],
    margin: float,
    history: Sequence[Results],
) -> List[Dict[str, Any]]:
    figures = [cell_figures(one, str(ours["campaign"]), origins, history) for one in matched]
    ratios = [_ratio(one) for one in figures]
    corrected = iter(holm([difference_p(ratio) for ratio in ratios if ratio]))
    return [
        {
            **named(one.cell),
            "unit": one.cell["unit"],
            "not_recorded": one.unrecorded,
            "left_out": one.left_out,
            **figure,
            **(
                found(ratio, next(corrected), margin, "repeats")
                if ratio
                else undecided("one repeat only on a side: nothing is known of its spread")
            ),
        }
        for one, figure, ratio in zip(matched, figures, ratios)
    ]


def _ratio(figures: Mapping[str, Any]) -> Optional[LogRatio]:
    if figures["known_days"] < 2 and min(figures["repeats"], figures["baseline_repeats"]) < 2:
        return None
    return new_day_ratio(figures["speeds"], *known_days(figures))
