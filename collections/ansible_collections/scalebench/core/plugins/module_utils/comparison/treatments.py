"""Variants that took turns in one campaign: each against the first, by differences in rounds."""

from __future__ import annotations

from statistics import geometric_mean
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, cast

from ..planning.variants import block_of, is_treated
from ..records.results import MeasuredCell, Results, TreatmentCell, Treatments
from ..results.cells import deciding_speeds
from ..stats.log_ratio import (
    LogRatio,
    check_margin,
    difference_p,
    holm,
)
from ..stats.paired import least_signed_rank_p, paired_ratio, signed_rank
from .cell_pairs import named
from .finding import ALPHA, LEVEL, found, undecided

__all__ = ["compare_treatments"]

# The t test finds more in fewer rounds, and ranks where single rounds are far off.
_RANKED = 8
_TOO_FEW = "fewer than two rounds in which both gave a throughput: nothing is known of the spread"


class _Pair(NamedTuple):
    """A cell and that of the first variant, and the rounds in which both have a throughput."""

    cell: MeasuredCell
    reference: MeasuredCell
    rounds: Dict[int, Tuple[float, float]]

    @property
    def ours(self) -> List[float]:
        return [speed for speed, _ in self.rounds.values()]

    @property
    def theirs(self) -> List[float]:
        return [speed for _, speed in self.rounds.values()]


def compare_treatments(results: Results, margin: float) -> Optional[Treatments]:
    """Return the comparison of variants as results.json holds it, None without any.

    Each variant of a cell is compared with the first that was planned. The findings are those of
    ``baseline.compare_campaigns``, all comparisons of the campaign together (Holm): ``slower`` and
    ``faster`` by the exact test of signed ranks, which needs no normal noise, from 8 rounds on
    where so many comparisons leave it something to find, else by the paired t test.

    :param results: of one campaign.
    :param margin: share that does not matter, as 0.02.
    :returns: ``margin``, ``level``, ``seed`` of the order, ``variants`` (by benchmark what each
        changes) and ``cells``. A cell has its names, ``treatment``, ``against`` (the first
        variant), ``unit``, ``speed`` and ``reference_speed`` (geometric means of the rounds that
        both have), ``rounds``, ``without_pair`` (numbers of repeats that only one of them has),
        ``ratio``, ``low``, ``high``, ``standard_error`` and ``degrees_of_freedom`` of its
        logarithm, ``p_difference`` (after Holm), ``p_signed_rank`` (before),
        ``p_equivalence``, ``finding`` and ``why``.
    :raises ValueError: an invalid margin.
    """
    pairs = _pairs(results["cells"])
    if not pairs:
        return None
    check_margin(margin)
    ratios = [_ratio(pair) for pair in pairs]
    tested = [(pair, ratio) for pair, ratio in zip(pairs, ratios) if ratio]
    tests = [_test(pair, ratio, len(tested)) for pair, ratio in tested]
    corrected = iter(zip(holm([p for p, _ in tests]), [direction for _, direction in tests]))
    provenance = results["provenance"]
    return {
        "margin": margin,
        "level": LEVEL,
        "seed": provenance.get("seed"),
        "variants": provenance.get("variants") or {},
        "cells": [
            cast(
                TreatmentCell,
                {
                    **_described(pair),
                    **(
                        found(ratio, p, margin, "rounds", direction)
                        if ratio
                        else undecided(_TOO_FEW)
                    ),
                },
            )
            for pair, ratio in zip(pairs, ratios)
            for p, direction in [next(corrected) if ratio else (1.0, None)]
        ],
    }


def _pairs(cells: Sequence[MeasuredCell]) -> List[_Pair]:
    blocks: Dict[Tuple[str, ...], List[MeasuredCell]] = {}
    for cell in cells:
        if is_treated(cell):
            blocks.setdefault(block_of(cell), []).append(cell)
    return [
        _Pair(cell, block[0], _rounds(cell, block[0]))
        for block in blocks.values()
        for cell in block[1:]
    ]


def _rounds(cell: MeasuredCell, reference: MeasuredCell) -> Dict[int, Tuple[float, float]]:
    speeds = zip((cell, reference), deciding_speeds(cell, reference))
    ours, theirs = (dict(zip(_numbers(side), of)) for side, of in speeds)
    return {number: (ours[number], theirs[number]) for number in sorted({*ours} & {*theirs})}


def _numbers(cell: MeasuredCell) -> List[int]:
    """Return the numbers, which are those of the rounds, of the repeats that gave a throughput."""
    return [repeat["repeat"] for repeat in cell["repeats"] if repeat["throughput"] is not None]


def _ratio(pair: _Pair) -> Optional[LogRatio]:
    return paired_ratio(pair.ours, pair.theirs) if len(pair.rounds) > 1 else None


def _test(pair: _Pair, ratio: LogRatio, tests: int) -> Tuple[float, Optional[float]]:
    """Return the p value of a difference before Holm's correction, and the direction by ranks.

    :param tests: how many are corrected together.
    :returns: direction None where the t test decides.
    """
    rounds = len(pair.rounds)
    if rounds < _RANKED or tests * least_signed_rank_p(rounds) > ALPHA:
        return difference_p(ratio), None
    direction, p = signed_rank(pair.ours, pair.theirs)
    return p, direction


def _described(pair: _Pair) -> Dict[str, Any]:
    both = bool(pair.rounds)
    speed, before = (geometric_mean(side) if both else None for side in (pair.ours, pair.theirs))
    return {
        **named(pair.cell),
        "treatment": pair.cell["treatment"],
        "against": pair.reference["treatment"],
        "unit": pair.cell["unit"],
        "speed": speed,
        "reference_speed": before,
        "rounds": len(pair.rounds),
        "without_pair": sorted({*_numbers(pair.cell)} ^ {*_numbers(pair.reference)}),
        "ratio": speed / before if speed and before else None,
        "p_signed_rank": signed_rank(pair.ours, pair.theirs)[1] if len(pair.rounds) > 1 else None,
    }
