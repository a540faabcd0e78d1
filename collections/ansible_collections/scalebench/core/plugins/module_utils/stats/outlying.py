"""Runs that lie too far from the others of their campaign to be its normal scatter."""

from __future__ import annotations

import math
from statistics import NormalDist, median
from typing import List, Sequence, Tuple

from .distributions import t_quantile
from .log_ratio import rounding
from .statistics import NORMAL_MAD

__all__ = ["mixed", "outlying", "within"]

Groups = Sequence[Sequence[float]]
# A run is cut that lies further from its campaign's median, in standard deviations of a run.
_FAR = 3.5
# The share of normal runs below it.
_NORMAL = NormalDist().cdf(_FAR)


def outlying(groups: Groups) -> List[List[int]]:
    """Return the numbers, from 1, of the runs of each campaign that lie too far from its median.

    The first scale is the median of the absolute deviations over all campaigns, without the
    smallest of each, which is 0 of an odd number; the second the standard deviation of the runs
    that the first leaves. Of two runs neither can be told to be the odd one.

    :param groups: logarithms of throughputs, a list for each campaign, together more than one of
        two runs.
    """
    away = [[abs(value - median(group)) for value in group] for group in groups]
    floor = rounding(median(groups[0]))
    pooled = sorted(one for group in away for one in group)[len(groups) :]
    scale = max(NORMAL_MAD * median(pooled), math.sqrt(floor))
    near = [
        [value for value, far in zip(*pair) if far <= _FAR * scale] for pair in zip(groups, away)
    ]
    variance, freedom = within(near)
    limit = t_quantile(_NORMAL, freedom) * math.sqrt(max(variance, floor))
    return [
        [number for number, far in enumerate(group, 1) if far > limit]
        if len(group) > 2
        # A spread of two shows in the variance of runs.
        else []
        for group in away
    ]


def within(groups: Groups) -> Tuple[float, int]:
    """Return the variance within the campaigns, and its degrees of freedom (at least 1)."""
    left = [group for group in groups if group]
    squares = math.fsum(
        (value - math.fsum(group) / len(group)) ** 2 for group in left for value in group
    )
    freedom = max(1, sum(len(group) - 1 for group in left))
    return squares / freedom, freedom


def mixed(groups: Groups, cut: Sequence[Sequence[int]]) -> str:
    """Return why runs that are cut are not single ones; empty if they are.

    Of ours one of five may be: where one run in fifty is slow, two of five are in 4 of 1000
    campaigns. Of fewer none, since one of three may as well be a third of the cluster's runs.

    :param groups: ours, then the baseline's campaigns and earlier ones; each has runs.
    :param cut: of :func:`outlying`.
    """
    every = sum(map(len, groups[1:]))
    for where, share, gone, of in (
        ("here", 5, len(cut[0]), len(groups[0])),
        ("in the baseline", 2, sum(map(len, cut[1:])), every),
    ):
        if share * gone > of:
            return (
                f"{gone} of {of} runs {where} lie further than {_FAR} standard deviations from"
                f" their median, more than one of {share}: no single slow runs; find out what they"
                " have in common"
            )
    whole = next((len(of) for of, gone in zip(groups, cut) if len(gone) == len(of)), 0)
    if whole:
        return (
            f"all {whole} runs of one campaign or day lie further than {_FAR} standard deviations"
            " from their median: it ran at several speeds; find out which is normal"
        )
    return ""
