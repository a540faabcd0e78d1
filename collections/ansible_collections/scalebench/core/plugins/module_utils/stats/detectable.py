"""Which deficit of a throughput can be found, and what a smaller one needs, by random effects.

A run's logarithm is a cluster's mean, the deviation of its day, and its own. The mean of n runs of
a new day differs from that of the baseline's K days, whose means count alike, with the variance
``day + run / n + sum(day + run / n_j) / K^2``, that of a random-effects prediction (Higgins,
Thompson and Spiegelhalter, "A re-evaluation of random-effects meta-analysis", Journal of the Royal
Statistical Society A 172 (2009), 4). It is an estimate, so that a deficit is shown by Student's t:
where the change is further from 0 than t(alpha) standard deviations, which 95 % of campaigns are
whose deficit is z(5 %) of them larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Callable, Optional, Sequence, Tuple

from .distributions import CERTAIN, t_quantile

__all__ = [
    "ALPHA",
    "POWER",
    "Spread",
    "baselines_needed",
    "days_needed",
    "degrees_of_freedom",
    "detectable",
    "limit_share",
    "log_deficit",
    "prediction_variance",
    "repeats_everywhere",
    "repeats_needed",
    "ways_to_find",
]

# At most this share of equal clusters is found to be slower, and this share of slower ones found.
ALPHA, POWER = 0.01, 0.95
# The limit is computed for more, since a few slower clusters remain undecided.
_SPARE = 0.01
# Repeats, and campaigns or days, that may be asked for.
_MOST_REPEATS, _MOST = 10_000, 50


@dataclass(frozen=True)
class Spread:
    """Variances of logarithms: ``run`` of runs within a day, ``day`` between days.

    ``run_freedom``: degrees of freedom of the first. ``days``: from how many days the second is
    estimated; 0 where it is stated, or where nothing is known of days.
    """

    run: float
    day: float
    run_freedom: float = CERTAIN
    days: int = 0


def log_deficit(share: float) -> float:
    """Return a deficit, as 0.01, as the positive difference of logarithms."""
    return -math.log1p(-share)


def _power_quantile() -> float:
    return NormalDist().inv_cdf(POWER + _SPARE)


def limit_share(alpha: float) -> float:
    """Return where the limit lies between no deficit (0) and the whole one (1)."""
    of_alpha = NormalDist().inv_cdf(1 - alpha)
    return of_alpha / (of_alpha + _power_quantile())


def prediction_variance(spread: Spread, repeats: int, baseline: Sequence[int]) -> float:
    """Return the variance of the difference of a campaign from the baseline's mean.

    :param repeats: of the campaign.
    :param baseline: repeats of each day of the baseline.
    """
    return math.fsum(_parts(spread, repeats, baseline))


def _parts(spread: Spread, repeats: int, baseline: Sequence[int]) -> Tuple[float, float]:
    """Return the variance by days and by runs."""
    count = len(baseline)
    of_means = math.fsum(1 / runs for runs in baseline) / count**2
    return spread.day * (1 + 1 / count), spread.run * (1 / repeats + of_means)


def degrees_of_freedom(spread: Spread, repeats: int, baseline: Sequence[int]) -> float:
    """Return the degrees of freedom of :func:`prediction_variance`.

    Of estimated days the means of days are what is known: their number decides. What is stated is
    certain (Satterthwaite with infinite degrees of freedom).
    """
    if spread.days:
        return max(1, spread.days - 1)
    days, runs = _parts(spread, repeats, baseline)
    return min(CERTAIN, spread.run_freedom * ((days + runs) / runs) ** 2)


def detectable(
    spread: Spread,
    repeats: int,
    baseline: Sequence[int],
    alpha: float = ALPHA,
    upper: Optional[Spread] = None,
) -> float:
    """Return the smallest deficit that is found with probability POWER, as a share.

    :param spread: as it is estimated; ``upper`` limits of it, with which the deficit is found
        although the estimates are too small by chance. The verdict is given with the same days, and
        with the runs of the campaign in addition.
    """
    freedom = degrees_of_freedom(spread, repeats, baseline)
    t = t_quantile(1 - alpha, freedom)
    # Of the verdict, and of the deficit that is found. Without an upper limit they are the same,
    # and taken once: a verdict calls this hundreds of times.
    both = [replace(spread, run=upper.run), upper] if upper else [spread]
    errors = [math.sqrt(prediction_variance(one, repeats, baseline)) for one in both]
    return -math.expm1(-(t * errors[0] + _power_quantile() * errors[-1]))


def repeats_needed(
    spread: Spread, repeats: int, baseline: Sequence[int], share: float, alpha: float = ALPHA
) -> Optional[int]:
    """Return the repeats with which a deficit is found; None if no number of them suffices.

    More repeats than the present ones also show better how they scatter.
    """
    return _least(
        lambda n: detectable(_with(spread, n - repeats), n, baseline, alpha) <= share,
        *(2, _MOST_REPEATS),
    )


def baselines_needed(
    spread: Spread, repeats: int, baseline: Sequence[int], share: float, alpha: float = ALPHA
) -> Optional[int]:
    """Return the baseline campaigns with which a deficit is found; None if no number suffices.

    Each is of another day, with as many repeats as those of the baseline.
    """
    each = round(math.fsum(baseline) / len(baseline))

    def found(count: int) -> bool:
        more = count - len(baseline)
        more_days = _with(spread, more * (each - 1), more)
        return detectable(more_days, repeats, [each] * count, alpha) <= share

    return _least(found, len(baseline), _MOST)


def days_needed(
    spread: Spread, repeats: int, baseline: Sequence[int], share: float, alpha: float = ALPHA
) -> Optional[int]:
    """Return of how many days the spread must be known; None if no number suffices, or 0 does."""
    if not spread.days:
        return None
    return _least(
        lambda days: detectable(replace(spread, days=days), repeats, baseline, alpha) <= share,
        *(spread.days, _MOST),
    )


def repeats_everywhere(
    spread: Spread, repeats: int, campaigns: int, share: float, alpha: float = ALPHA
) -> Optional[int]:
    """Return the repeats, of the campaign and of each of the baseline, that find a deficit.

    :param repeats: the present ones; ``campaigns`` of the baseline.
    :returns: None if no number suffices.
    """

    def found(count: int) -> bool:
        more = _with(spread, (count - repeats) * (campaigns + 1))
        return detectable(more, count, [count] * campaigns, alpha) <= share

    return _least(found, 2, _MOST_REPEATS)


def _with(spread: Spread, runs: int, days: int = 0) -> Spread:
    """Return a spread that is known of more runs, and of more days where it is estimated."""
    freedom = max(1.0, spread.run_freedom + runs)
    return replace(
        spread, run_freedom=freedom, days=spread.days + days if spread.days else spread.days
    )


def _least(enough: Callable[[int], bool], low: int, high: int) -> Optional[int]:
    """Return the least number from ``low`` to ``high`` that is enough, None if the last is not."""
    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def ways_to_find(
    spread: Spread, repeats: int, baseline: Sequence[int], share: float, alpha: float = ALPHA
) -> str:
    """Return in words what finds a deficit, or that nothing does.

    :param repeats: of the campaign, ``baseline`` of each day of the baseline.
    """
    each = round(math.fsum(baseline) / len(baseline))
    more = repeats_needed(spread, repeats, baseline, share, alpha)
    campaigns = baselines_needed(spread, repeats, baseline, share, alpha)
    everywhere = repeats_everywhere(spread, repeats, len(baseline), share, alpha)
    days = days_needed(spread, repeats, baseline, share, alpha)
    ways = [
        f"{more} repeats" if more else "",
        f"{campaigns} baseline campaigns of {each} repeats" if campaigns else "",
        f"{everywhere} repeats here and in each baseline campaign" if everywhere else "",
        f"{days} days of history" if days else "",
    ]
    percent = f"{100 * share:.2g} %"
    if any(ways):
        return f"{percent} needs {' or '.join(filter(None, ways))}"
    more_of_both = _repeats_and_campaigns(spread, repeats, len(baseline), share, alpha)
    if more_of_both:
        return f"{percent} needs {more_of_both}"
    return f"days differ too much for {percent}, whatever the number of repeats"


def _repeats_and_campaigns(
    spread: Spread, present: int, campaigns: int, share: float, alpha: float
) -> str:
    """Return the least runs in all that find a deficit, in _MOST campaigns or fewer, if any."""
    counts = [
        (repeats * (more + 1), repeats, more)
        for more in range(campaigns + 1, _MOST + 1)
        for known in [_with(spread, (present - 1) * (more - campaigns), more - campaigns)]
        for repeats in [repeats_everywhere(known, present, more, share, alpha)]
        if repeats
    ]
    if not counts:
        return ""
    _, repeats, more = min(counts)
    return f"{more} baseline campaigns and {repeats} repeats here and in each of them"
