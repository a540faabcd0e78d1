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

from . import chi_square
from .detectable import (
    ALPHA,
    Spread,
    detectable,
    largest_day,
    largest_error,
    limit_share,
    log_deficit,
    prediction_variance,
    ways_to_find,
)
from .levels import Levels, variance_levels
from .log_ratio import rounding
from .outlying import mixed, outlying, within
from .student_t import quantile

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
# Degrees of freedom below which the spread of runs is not known well enough.
LEAST_FREEDOM = 6
# Confidence at which the error must be shown to be too large. Days are few and their variance is
# hardly known: at 80 % one cell in ten that could be decided would not be.
_SURE_RUNS, _SURE_DAYS = 0.9, 0.99
# Days from which on the verdict is given without the spread that it holds for. Fewer hardly show
# that their spread is a little too large: near the limit 3 % of equal clusters are found slower
# with four days, where a rule with the same power has 2.2 % at least (Neyman-Pearson lemma).
_ENOUGH_DAYS = 8
# How fast the distance grows beyond, chosen by simulation: 1 decides too much where days differ by
# several times what can be decided, a step costs power where they can.
_STEEP = 3


@dataclass(frozen=True)
class Deficit:
    """A verdict, and what it follows from.

    ``change`` is ours / baseline - 1, ``error`` the standard deviation of its logarithm. The
    verdict is FOUND below ``found_below`` and NOT_FOUND above ``not_found_above``, shares as
    ``change``; between them it is UNDECIDED. ``cut`` has the numbers, from 1, of the runs that
    were cut, for our campaign and then for each of the baseline. ``same_day``: there is one
    campaign to compare with, so that nothing is known of how days differ. ``day_limit``: where the
    days are too few to know it, the standard deviation of days, as a share, up to which the error
    rates of a verdict hold.
    """

    verdict: str
    reason: str
    change: Optional[float]
    error: Optional[float]
    found_below: Optional[float]
    not_found_above: Optional[float]
    spread: Optional[Spread]
    cut: Tuple[Tuple[int, ...], ...]
    same_day: bool
    day_limit: Optional[float] = None


@dataclass(frozen=True)
class _Known:
    """A spread, and the degrees of freedom of its variances; 0 for days that are not estimated."""

    spread: Spread
    of_runs: int
    of_days: int
    days: bool


def deficit(
    ours: Sequence[float],
    baseline: Groups,
    share: float,
    alpha: float = ALPHA,
    day: Optional[float] = None,
) -> Deficit:
    """Return whether our throughput is below the baseline's by ``share``, or that it is unknown.

    :param ours: throughputs of a campaign's repeats, above 0; ``baseline`` those of each campaign
        of the baseline, in the same unit.
    :param share: the deficit to find, as 0.01.
    :param alpha: share of campaigns without a deficit for which one may be found.
    :param day: standard deviation of the days, as a share, where it is known from elsewhere;
        None to estimate it from the campaigns of the baseline.
    :raises ValueError: a throughput is not above 0; share or alpha are no share; no baseline.
    """
    _check(ours, baseline, share, alpha)
    groups = [ours, *baseline]
    logs = [[math.log(speed) for speed in group] for group in groups]
    same_day = len(baseline) == 1 and day is None
    if len(ours) < 2:
        return _unknown("one repeat: a slow run cannot be told from a slow cluster", same_day)
    freedom = sum(len(group) - 1 for group in groups)
    if freedom < LEAST_FREEDOM:
        return _unknown(_too_few(groups, freedom), same_day)
    cut = outlying(logs)
    several = mixed(groups, cut)
    if several:
        return _unknown(several, same_day, cut)
    kept = [
        [value for number, value in enumerate(group, 1) if number not in gone]
        for group, gone in zip(groups, cut)
    ]
    return _judged(kept, share, alpha, day, cut)


def _check(ours: Sequence[float], baseline: Groups, share: float, alpha: float) -> None:
    if not baseline or not all(baseline) or not ours:
        raise ValueError("a campaign without a throughput, or no baseline")
    if not (0 < share < 1 and 0 < alpha < 0.5):
        raise ValueError(f"deficit {share!r}, alpha {alpha!r}: shares are needed, as 0.01")
    slowest = min(min(group) for group in (ours, *baseline))
    if not slowest > 0:
        raise ValueError(f"throughput {slowest!r}: a number above 0 is needed")


def _unknown(reason: str, same_day: bool, cut: Sequence[Sequence[int]] = ()) -> Deficit:
    runs = tuple(map(tuple, cut))
    return Deficit(UNDECIDED, reason, None, None, None, None, None, runs, same_day)


def _too_few(groups: Groups, freedom: int) -> str:
    campaigns = len(groups)
    each = math.ceil(LEAST_FREEDOM / campaigns) + 1
    return (
        f"{freedom} degree(s) of freedom are too few to know the spread of runs: {each} repeats"
        f" here and in the {campaigns - 1} baseline campaign(s) are enough"
    )


def _known(baseline: Levels, logs: Groups, day: Optional[float]) -> _Known:
    """Return the spread of runs, ours among them, and of days.

    :param logs: logarithms of all throughputs, ours and the baseline's.
    :param day: standard deviation of the days where it is known.
    """
    run, of_runs = within(logs)
    run = max(run, rounding(baseline.mean))
    if day is not None:
        return _Known(Spread(run, day**2), of_runs, 0, days=True)
    if baseline.between is None:
        return _Known(Spread(run, 0.0), of_runs, 0, days=False)
    days = max(0.0, baseline.between - run / baseline.runs)
    return _Known(Spread(run, days), of_runs, baseline.days - 1, days=True)


def baseline_spread(baseline: Groups) -> Tuple[Spread, List[int]]:
    """Return how runs and days of a baseline differ, and how many runs of each day count.

    Single slow runs are left out, as :func:`deficit` does.

    :param baseline: throughputs above 0, a list for each day.
    :raises ValueError: no throughput, or no day has two.
    """
    if not baseline or not any(len(group) > 1 for group in baseline):
        raise ValueError("no day has two throughputs")
    logs = [[math.log(speed) for speed in group] for group in baseline]
    pairs = zip(baseline, outlying(logs))
    kept = [[v for number, v in enumerate(group, 1) if number not in gone] for group, gone in pairs]
    logs = [[math.log(speed) for speed in group] for group in kept]
    return _known(variance_levels(kept), logs, None).spread, [len(group) for group in kept]


def _judged(
    kept: Groups, share: float, alpha: float, day: Optional[float], cut: Sequence[Sequence[int]]
) -> Deficit:
    ours, baseline = kept[0], kept[1:]
    logs = [[math.log(speed) for speed in group] for group in kept]
    levels, counts = variance_levels(baseline), [len(group) for group in baseline]
    known = _known(levels, logs, day)
    mean = math.fsum(logs[0]) / len(ours)
    change = mean - levels.mean
    variance = prediction_variance(known.spread, len(ours), counts)
    coarse = rounding(mean) + rounding(levels.mean)
    error = math.sqrt(variance + coarse)
    # What is not estimated is not uncertain.
    certain = coarse if day is None else coarse + day**2 * (1 + 1 / len(baseline))
    limit = limit_share(alpha) * log_deficit(share)
    aside = _aside(known, error, certain, alpha, largest_error(share, alpha), limit)
    found, not_found = -limit - aside, -limit + aside
    verdict = FOUND if change < found else NOT_FOUND if change > not_found else UNDECIDED
    return Deficit(
        verdict,
        "" if verdict != UNDECIDED else _missing(known, len(ours), counts, share, alpha),
        math.expm1(change),
        error,
        math.expm1(found),
        math.expm1(not_found),
        known.spread,
        tuple(map(tuple, cut)),
        not known.days,
        largest_day(known.spread.run, len(ours), counts, share, alpha)
        if day is None and len(baseline) < _ENOUGH_DAYS
        else None,
    )


def _aside(
    known: _Known, error: float, certain: float, alpha: float, largest: float, limit: float
) -> float:
    """Return how far beside the limit the change must lie for a verdict.

    0 unless the error is shown to be larger than both error rates allow. From there on it rises
    steeply to what Student's t of the error's degrees of freedom asks for, so that a deficit far
    beyond is still found.

    :param certain: the part of the error's variance that is not estimated.
    :param largest: error that both rates allow; ``limit`` the change between the verdicts.
    """
    by_days = known.spread.day > 0 and known.of_days > 0
    freedom = known.of_days if by_days else known.of_runs
    sure = _SURE_DAYS if by_days else _SURE_RUNS
    shrink = freedom / chi_square.quantile(sure, freedom)
    least = math.sqrt(certain + (error**2 - certain) * shrink)
    if least <= largest:
        return 0.0
    t = quantile(1 - alpha, freedom)
    return min(_STEEP * t * (error - largest * error / least), t * error - limit)


def _missing(
    known: _Known, repeats: int, baseline: Sequence[int], share: float, alpha: float
) -> str:
    """Return what a decision needs."""
    spread = known.spread
    smallest = detectable(spread, repeats, baseline, alpha)
    if smallest <= share:
        return f"the last digit of the throughput is too coarse to show {100 * share:g} %"
    days = f" and days by {100 * math.sqrt(spread.day):.2g} %" if known.days else ""
    return (
        f"runs differ by {100 * math.sqrt(spread.run):.2g} %{days} (standard deviation):"
        f" {repeats} repeats and {len(baseline)} baseline campaign(s) show a deficit of"
        f" {100 * smallest:.2g} %; {ways_to_find(spread, repeats, baseline, share, alpha)}"
    )
