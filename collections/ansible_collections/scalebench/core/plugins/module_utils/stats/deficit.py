"""Is a campaign slower than a baseline of one or more campaigns by a stated share, or not?

Two hypotheses, no deficit and a deficit of the stated share, and a limit between them. Single slow
runs (one in fifty on GPUs) would widen an interval beyond use, so that runs far from the median of
their campaign are cut first, and reported. Where the spread of runs and days does not allow the
decision, there is none: ``detectable`` has the formula and its source.

Simulated with 2 % of the runs slow by 3 % and five repeats: tests/unit/stats/test_deficit.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from .detectable import (
    ALPHA,
    POWER,
    Spread,
    degrees_of_freedom,
    detectable,
    limit_share,
    log_deficit,
    prediction_variance,
    ways_to_find,
)
from .distributions import t_quantile
from .levels import Levels, new_day_variance, variance_levels
from .log_ratio import rounding
from .outlying import mixed, outlying, within

__all__ = [
    "FOUND",
    "LEAST_FREEDOM",
    "NOT_FOUND",
    "UNDECIDED",
    "Deficit",
    "baseline_spread",
    "deficit",
]

FOUND, NOT_FOUND, UNDECIDED = "found", "not found", "cannot be decided"
Groups = Sequence[Sequence[float]]
_TOO_COARSE = "the last digit of the throughput is too coarse to show {:g} %"
# Degrees of freedom below which the spread of runs is not known well enough.
LEAST_FREEDOM = 6


@dataclass(frozen=True)
class Deficit:
    """A verdict, and what it follows from.

    ``change`` is ours / baseline - 1. ``cut`` has the numbers, from 1, of the runs that
    were cut, for our campaign, each day of the baseline and each earlier one. ``same_day``: one day
    in all is known, so that nothing is known of how days differ.
    """

    verdict: str
    reason: str
    change: Optional[float]
    spread: Optional[Spread]
    cut: Tuple[Tuple[int, ...], ...]
    same_day: bool


def deficit(
    ours: Sequence[float],
    baseline: Groups,
    share: float,
    alpha: float = ALPHA,
    day: Optional[float] = None,
    earlier: Groups = (),
) -> Deficit:
    """Return whether our throughput is below the baseline's by ``share``, or that it is unknown.

    It is FOUND where the change is further below 0 than Student's t at ``alpha`` times its error,
    and further than the limit between the two hypotheses; NOT_FOUND where it is above the limit
    and further above the deficit than t at 5 % times the error. The t is that of the days: of few
    days hardly anything is shown.

    :param ours: throughputs of a campaign's repeats, above 0; ``baseline`` those of each day of
        the baseline, in the same unit.
    :param share: the deficit to find, as 0.01.
    :param alpha: share of campaigns without a deficit for which one may be found.
    :param day: standard deviation of the days, as a share, where it is known from elsewhere;
        None to estimate it from the days of the baseline and the earlier ones.
    :param earlier: throughputs of other days of the same cluster, which show how days differ.
    :raises ValueError: a throughput is not above 0; share or alpha are no share; no baseline.
    """
    groups = [ours, *baseline, *earlier]
    _check(groups, baseline, share, alpha)
    logs = [[math.log(speed) for speed in group] for group in groups]
    same_day = len(groups) == 2 and day is None
    if len(ours) < 2:
        return _unknown("one repeat: a slow run cannot be told from a slow cluster", same_day)
    freedom = sum(len(group) - 1 for group in groups)
    if freedom < LEAST_FREEDOM:
        return _unknown(_too_few(groups, freedom), same_day)
    cut = outlying(logs)
    several = mixed(groups, cut)
    if several:
        return _unknown(several, same_day, cut)
    return _judged(_kept(groups, cut), len(baseline), (share, alpha, day), cut)


def _kept(groups: Groups, cut: Groups) -> List[List[float]]:
    """Return the runs that are not cut, all of a day that would be left with none."""
    return [
        [value for number, value in enumerate(group, 1) if number not in gone] or list(group)
        for group, gone in zip(groups, cut)
    ]


def _check(groups: Groups, baseline: Groups, share: float, alpha: float) -> None:
    if not baseline or not all(groups):
        raise ValueError("a campaign without a throughput, or no baseline")
    if not (0 < share < 1 and 0 < alpha < 0.5):
        raise ValueError(f"deficit {share!r}, alpha {alpha!r}: shares are needed, as 0.01")
    slowest = min(map(min, groups))
    if not slowest > 0:
        raise ValueError(f"throughput {slowest!r}: a number above 0 is needed")


def _unknown(reason: str, same_day: bool, cut: Sequence[Sequence[int]] = ()) -> Deficit:
    runs = tuple(map(tuple, cut))
    return Deficit(UNDECIDED, reason, None, None, runs, same_day)


def _too_few(groups: Groups, freedom: int) -> str:
    campaigns = len(groups)
    each = math.ceil(LEAST_FREEDOM / campaigns) + 1
    return (
        f"{freedom} degree(s) of freedom are too few to know the spread of runs: {each} repeats"
        f" here and in the {campaigns - 1} baseline campaign(s) are enough"
    )


def _spread(known: Levels, logs: Groups, day: Optional[float]) -> Spread:
    """Return the spread of runs, and of days.

    :param known: of all days but ours; ``logs`` the logarithms of all throughputs.
    :param day: standard deviation of the days where it is known.
    """
    run, freedom = within(logs)
    run = max(run, rounding(known.mean))
    if day is not None or known.between is None:
        return Spread(run, (day or 0.0) ** 2, freedom)
    return Spread(run, max(0.0, known.between - run / known.runs), freedom, known.days)


def baseline_spread(baseline: Groups, earlier: Groups = ()) -> Tuple[Spread, List[int]]:
    """Return how runs and days differ, and how many runs of each day of the baseline count.

    Single slow runs are left out, as :func:`deficit` does.

    :param baseline: throughputs above 0, a list for each day; ``earlier`` those of other days.
    :raises ValueError: no throughput, or no day has two.
    """
    groups = [*baseline, *earlier]
    if not baseline or not any(len(group) > 1 for group in groups):
        raise ValueError("no day has two throughputs")
    kept = _kept(groups, outlying([[math.log(speed) for speed in group] for group in groups]))
    logs = [[math.log(speed) for speed in group] for group in kept]
    counts = [len(group) for group in kept[: len(baseline)]]
    return _spread(variance_levels(kept), logs, None), counts


def _judged(
    kept: Groups, days: int, asked: Tuple[float, float, Optional[float]], cut: Groups
) -> Deficit:
    """Return the verdict on runs that are no outliers.

    :param kept: ours, those of each day of the baseline, and of each earlier one.
    :param days: of the baseline; ``asked`` the deficit, alpha, and the day's stated spread.
    """
    share, alpha, day = asked
    ours, baseline = kept[0], kept[1 : days + 1]
    logs = [[math.log(speed) for speed in group] for group in kept]
    base, known = variance_levels(baseline), variance_levels(kept[1:])
    spread, counts = _spread(known, logs, day), [len(group) for group in baseline]
    mean = math.fsum(logs[0]) / len(ours)
    change = mean - base.mean
    if spread.days:
        runs = (spread.run, spread.run_freedom)
        variance, freedom = new_day_variance(known, base, len(ours), runs)
    else:
        variance = prediction_variance(spread, len(ours), counts)
        freedom = degrees_of_freedom(spread, len(ours), counts)
    coarse = rounding(mean) + rounding(base.mean)
    error = math.sqrt(variance + coarse)
    whole = log_deficit(share)
    limit = limit_share(alpha) * whole
    found = -max(limit, t_quantile(1 - alpha, freedom) * error)
    not_found = max(-limit, t_quantile(POWER, freedom) * error - whole)
    verdict = FOUND if change < found else NOT_FOUND if change > not_found else UNDECIDED
    return Deficit(
        verdict,
        ""
        if verdict != UNDECIDED
        else _TOO_COARSE.format(100 * share)
        if coarse > variance
        else _missing(spread, len(ours), counts, share, alpha),
        math.expm1(change),
        spread,
        tuple(tuple(map(int, runs)) for runs in cut),
        day is None and not spread.days,
    )


def _missing(
    spread: Spread, repeats: int, baseline: Sequence[int], share: float, alpha: float
) -> str:
    """Return what a decision needs."""
    smallest = detectable(spread, repeats, baseline, alpha)
    if smallest <= share:
        return (
            f"the change lies between what no deficit and one of {100 * share:g} % may show;"
            " another campaign may decide"
        )
    days = ""
    if spread.days or spread.day:
        which = f"{spread.days} days" if spread.days else "days"
        days = f" and {which} by {100 * math.sqrt(spread.day):.2g} %"
    return (
        f"runs differ by {100 * math.sqrt(spread.run):.2g} %{days} (standard deviation):"
        f" {repeats} repeats and {len(baseline)} baseline campaign(s) show a deficit of"
        f" {100 * smallest:.2g} %; {ways_to_find(spread, repeats, baseline, share, alpha)}"
    )
