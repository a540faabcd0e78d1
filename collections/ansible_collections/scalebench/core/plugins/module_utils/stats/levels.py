"""Levels of variance: runs within a day, days within a baseline, and what a new day may show.

The model has random effects: the logarithm of a run's throughput is the mean of the cluster, the
deviation of the day and that of the run. Campaigns of one calendar day are one day.

The interval for a new day is built from the means of the days alone, as Kalibera and Jones do with
the highest level of repetition ("Rigorous benchmarking in reasonable time", ISMM 2013, section 6):
it holds however the runs within a day depend on each other. Days may have unequal numbers of runs
(analysis of unweighted means: Thomas and Hultquist, "Interval estimation for the unbalanced case of
the one-way random effects model", The Annals of Statistics 6 (1978)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from .log_ratio import LogRatio, centre, freedom, log_ratio, rounding
from .outlying import within

__all__ = ["Levels", "by_day", "known_days", "new_day_ratio", "new_day_variance", "variance_levels"]

Groups = Sequence[Sequence[float]]
# Days from which on earlier campaigns are used.
_LEAST_DAYS = 5


@dataclass(frozen=True)
class Levels:
    """Mean and variances of logarithms of throughputs.

    ``run`` is the variance of runs within a day, of ``run_freedom`` degrees of freedom, None where
    no day has two runs. ``between`` is the variance of the means of the ``days``, and ``day`` what
    it has beside the scatter of the runs: both are None for one day. ``runs`` is the harmonic mean
    of the runs of a day.
    """

    mean: float
    run: Optional[float]
    run_freedom: int
    between: Optional[float]
    day: Optional[float]
    days: int
    runs: float


def by_day(groups: Groups, days: Sequence[str]) -> List[List[float]]:
    """Return the values of campaigns as one group a day, in order of the days.

    :param groups: a list for each campaign; ``days`` the day of each. Days that are not known
        (empty) cannot be told apart: they are one.
    """
    found: Dict[str, List[float]] = {}
    for values, day in zip(groups, days):
        found.setdefault(day, []).extend(values)
    return [found[day] for day in sorted(found)]


def known_days(
    groups: Groups, days: Sequence[str], others: Groups, other_days: Sequence[str]
) -> Tuple[List[List[float]], List[List[float]]]:
    """Return the values of each day of a baseline, and of each other day that is known.

    The others are left out where too few days are known with them: a verdict for the same day only
    says more than one for a new day that two or three days allow.

    :param groups: of each campaign of the baseline; ``others`` of earlier ones.
    """
    named, found = by_day(groups, days), {*days}
    apart = [place for place, day in enumerate(other_days) if day and day not in found]
    earlier = by_day([others[place] for place in apart], [other_days[place] for place in apart])
    return named, earlier if len(named) + len(earlier) >= _LEAST_DAYS else []


def variance_levels(groups: Groups) -> Levels:
    """Return the variances of runs and of days, by the method of moments.

    :param groups: throughputs above 0, a list for each day, none of them empty.
    :raises ValueError: no group, an empty one, or a throughput that is not above 0.
    """
    if not groups or not all(groups) or not min(map(min, groups)) > 0:
        raise ValueError("one or more throughputs above 0 are needed of every day")
    logs = [[math.log(value) for value in group] for group in groups]
    means = [math.fsum(group) / len(group) for group in logs]
    days, count = len(logs), sum(map(len, logs))
    mean = math.fsum(means) / days
    run = max(within(logs)[0], rounding(mean)) if count > days else None
    runs = days / math.fsum(1 / len(group) for group in logs)
    if days < 2:
        return Levels(mean, run, count - days, None, None, days, runs)
    between = math.fsum((value - mean) ** 2 for value in means) / (days - 1)
    return Levels(
        mean, run, count - days, between, max(0.0, between - (run or 0) / runs), days, runs
    )


def new_day_ratio(ours: Sequence[float], groups: Groups, earlier: Groups = ()) -> LogRatio:
    """Return the logarithm of ours / baseline, with the error that ours has as a new day.

    The baseline is the geometric mean of its days. With one day in all nothing is known of how
    days differ, and the result holds for that day only: it is :func:`log_ratio`'s.

    :param ours: throughputs of a campaign, above 0; ``groups`` those of each day of the baseline.
    :param earlier: those of other days of the same cluster, which show how days differ.
    :raises ValueError: one day, and fewer than two repeats on a side.
    """
    if len(groups) + len(earlier) < 2:
        return log_ratio(ours, groups[0])
    base, known = variance_levels(groups), variance_levels([*groups, *earlier])
    mean, own = centre(ours) if len(ours) > 1 else (math.log(ours[0]), 0.0)
    run_freedom = known.run_freedom + len(ours) - 1
    run = None
    if known.run is not None:
        squares = own * len(ours) * (len(ours) - 1)
        run = (known.run * known.run_freedom + squares) / run_freedom
    variance, degrees = new_day_variance(known, base, len(ours), (run, run_freedom), own)
    coarse = rounding(mean) + rounding(base.mean)
    return LogRatio(mean - base.mean, math.sqrt(variance + coarse), degrees)


def new_day_variance(
    known: Levels, base: Levels, repeats: int, runs: Tuple[Optional[float], float], own: float = 0.0
) -> Tuple[float, float]:
    """Return the variance of a new mean less that of the baseline, and its degrees of freedom.

    The variance of the means of the known days already contains the scatter of as many runs as
    these days have. What fewer runs scatter more is added, by Satterthwaite (Biometrics Bulletin 2
    (1946)); what more runs scatter less is not subtracted. The variance of a run is that of all
    days and of the new one together: two or three runs alone often show far too little. Where they
    show more than it, as with one slow run, theirs is taken. Days that lie closer together than
    their runs allow do so by chance: the variance is then that of the runs.

    :param known: of two days or more, those of the baseline, ``base``, among them.
    :param runs: the variance of a run and its degrees of freedom; None of days of one run.
    :param own: the variance of the new mean by its own runs; 0 to leave that out.
    """
    between, both = known.between or 0.0, 1 + 1 / base.days
    run, run_freedom = runs
    if run is None:
        return between * both, known.days - 1
    of_runs = run / known.runs
    of_means = max(between, of_runs) * both
    of_base = run * max(0.0, 1 / base.runs - 1 / known.runs) / base.days
    more, count = max((run / repeats - of_runs, run_freedom + 1), (own - of_runs, repeats))
    more = max(more, 0.0) + of_base
    if more <= 0:
        return of_means, known.days - 1
    degrees = freedom((of_means, known.days), (more, count))
    # The variance of two days is so uncertain that the sum's degrees of freedom come out too many.
    return of_means + more, degrees if known.days > 2 else min(degrees, 1)
