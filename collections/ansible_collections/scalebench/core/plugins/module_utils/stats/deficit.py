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
from statistics import NormalDist
from typing import List, Optional, Sequence, Tuple

from .detectable import (
    ALPHA,
    Spread,
    detectable,
    largest_error,
    limit_share,
    log_deficit,
    prediction_variance,
    ways_to_find,
)
from .log_ratio import rounding
from .outlying import mixed, outlying, within
from .student_t import quantile

__all__ = ["FOUND", "NOT_FOUND", "UNDECIDED", "Deficit", "deficit", "known_spread"]

FOUND, NOT_FOUND, UNDECIDED = "found", "not found", "cannot be decided"
Groups = Sequence[Sequence[float]]
# Degrees of freedom below which the spread of runs is not known well enough.
_LEAST_FREEDOM = 6
# Confidence at which the error must be shown to be too large. Days are few and their variance is
# hardly known: at 80 % one cell in ten that could be decided would not be.
_SURE_RUNS, _SURE_DAYS = 0.9, 0.975


@dataclass(frozen=True)
class Deficit:
    """A verdict, and what it follows from.

    ``change`` is ours / baseline - 1, ``error`` the standard deviation of its logarithm. The
    verdict is FOUND below ``found_below`` and NOT_FOUND above ``not_found_above``, shares as
    ``change``; between them it is UNDECIDED. ``cut`` has the numbers, from 1, of the runs that
    were cut, for our campaign and then for each of the baseline. ``same_day``: there is one
    campaign to compare with, so that nothing is known of how days differ.
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
    groups = _checked(ours, baseline, share, alpha)
    same_day = len(baseline) == 1 and day is None
    if len(ours) < 2:
        return _unknown("one repeat: a slow run cannot be told from a slow cluster", same_day)
    freedom = sum(len(group) - 1 for group in groups)
    if freedom < _LEAST_FREEDOM:
        return _unknown(_too_few(groups, freedom), same_day)
    cut = outlying(groups)
    several = mixed(groups, cut)
    if several:
        return _unknown(several, same_day, cut)
    kept = [
        [value for number, value in enumerate(group, 1) if number not in gone]
        for group, gone in zip(groups, cut)
    ]
    return _judged(kept, share, alpha, day, cut)


def _checked(
    ours: Sequence[float], baseline: Groups, share: float, alpha: float
) -> List[List[float]]:
    """Return the logarithms of the campaigns, ours first."""
    if not baseline or not all(baseline) or not ours:
        raise ValueError("a campaign without a throughput, or no baseline")
    if not (0 < share < 1 and 0 < alpha < 0.5):
        raise ValueError(f"deficit {share!r}, alpha {alpha!r}: shares are needed, as 0.01")
    slowest = min(min(group) for group in (ours, *baseline))
    if not slowest > 0:
        raise ValueError(f"throughput {slowest!r}: a number above 0 is needed")
    return [[math.log(speed) for speed in group] for group in (ours, *baseline)]


def _unknown(reason: str, same_day: bool, cut: Sequence[Sequence[int]] = ()) -> Deficit:
    runs = tuple(map(tuple, cut))
    return Deficit(UNDECIDED, reason, None, None, None, None, None, runs, same_day)


def _too_few(groups: Groups, freedom: int) -> str:
    campaigns = len(groups)
    each = math.ceil(_LEAST_FREEDOM / campaigns) + 1
    return (
        f"{freedom} degree(s) of freedom are too few to know the spread of runs: {each} repeats"
        f" here and in the {campaigns - 1} baseline campaign(s) are enough"
    )


def known_spread(baseline: Groups, ours: Sequence[float] = ()) -> _Known:
    """Return the variances of runs and days of campaigns.

    By moments: the variance of the campaigns' means is that of days and the mean's own.

    :param baseline: logarithms of throughputs, a list for each campaign.
    :param ours: the same of another campaign, for the variance of runs.
    """
    means = [math.fsum(group) / len(group) for group in baseline]
    run, of_runs = within([*baseline, ours])
    run = max(run, rounding(means[0]))
    if len(baseline) < 2:
        return _Known(Spread(run, 0.0), of_runs, 0, days=False)
    centre = math.fsum(means) / len(means)
    between = math.fsum((mean - centre) ** 2 for mean in means) / (len(means) - 1)
    own = run * math.fsum(1 / len(group) for group in baseline) / len(baseline)
    return _Known(Spread(run, max(0.0, between - own)), of_runs, len(baseline) - 1, days=True)


def _judged(
    kept: Groups, share: float, alpha: float, day: Optional[float], cut: Sequence[Sequence[int]]
) -> Deficit:
    ours, baseline = kept[0], kept[1:]
    known = known_spread(baseline, ours)
    if day is not None:
        known = _Known(Spread(known.spread.run, day**2), known.of_runs, 0, days=True)
    change, error = _difference(ours, baseline, known.spread)
    limit = limit_share(alpha) * log_deficit(share)
    aside = _aside(known, error, largest_error(share, alpha), alpha)
    found, not_found = -limit - aside, -limit + aside
    verdict = FOUND if change < found else NOT_FOUND if change > not_found else UNDECIDED
    counts = [len(group) for group in baseline]
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
    )


def _difference(ours: Sequence[float], baseline: Groups, spread: Spread) -> Tuple[float, float]:
    """Return our mean less the baseline's, each campaign by its precision, and its error."""
    mean = math.fsum(ours) / len(ours)
    weights = [1 / (spread.day + spread.run / len(group)) for group in baseline]
    centre = math.fsum(
        weight * math.fsum(group) / len(group) for weight, group in zip(weights, baseline)
    ) / math.fsum(weights)
    variance = prediction_variance(spread, len(ours), [len(group) for group in baseline])
    return mean - centre, math.sqrt(variance + rounding(mean) + rounding(centre))


def _aside(known: _Known, error: float, largest: float, alpha: float) -> float:
    """Return how far beside the limit the change must lie for a verdict.

    0 unless the error is shown to be larger than both error rates allow. From there on it grows
    by Student's t of the error's degrees of freedom, so that a deficit far beyond is still found.
    """
    by_days = known.spread.day > 0 and known.of_days > 0
    freedom = known.of_days if by_days else known.of_runs
    sure = _SURE_DAYS if by_days else _SURE_RUNS
    beyond = error - largest * math.sqrt(_chi_square(sure, freedom) / freedom)
    return max(0.0, beyond) * quantile(1 - alpha, freedom)


def _chi_square(probability: float, freedom: int) -> float:
    """Return the quantile of chi-square by Wilson and Hilferty (1931), exact to 2 % from 0.8 on."""
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + NormalDist().inv_cdf(probability) * math.sqrt(part)) ** 3)


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
