"""Which deficit of a throughput can be found, and what a smaller one needs, by random effects.

A run's logarithm is a cluster's mean, the deviation of its day, and its own. The mean of n runs of
a new day differs from that of the baseline's K days, whose means count alike, with the variance
``day + run / n + sum(day + run / n_j) / K^2``, that of a random-effects prediction (Higgins,
Thompson and Spiegelhalter, "A re-evaluation of random-effects meta-analysis", Journal of the Royal
Statistical Society A 172 (2009), 4). A limit between no deficit and the deficit d is passed by
chance with probability alpha and missed with 5 % where that standard deviation is at most
d / (z(alpha) + z(5 %)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Optional, Sequence

__all__ = [
    "ALPHA",
    "POWER",
    "Spread",
    "baselines_needed",
    "detectable",
    "largest_day",
    "largest_error",
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
# Campaigns of a baseline that may be asked for beside more repeats.
_MOST = 50


@dataclass(frozen=True)
class Spread:
    """Variances of logarithms: ``run`` of runs within a campaign, ``day`` between campaigns."""

    run: float
    day: float


def log_deficit(share: float) -> float:
    """Return a deficit, as 0.01, as the positive difference of logarithms."""
    return -math.log1p(-share)


def _quantiles(alpha: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha) + normal.inv_cdf(POWER + _SPARE)


def limit_share(alpha: float) -> float:
    """Return where the limit lies between no deficit (0) and the whole one (1)."""
    return NormalDist().inv_cdf(1 - alpha) / _quantiles(alpha)


def largest_error(share: float, alpha: float) -> float:
    """Return the largest standard deviation at which both error rates are kept."""
    return log_deficit(share) / _quantiles(alpha)


def largest_day(
    run: float, repeats: int, baseline: Sequence[int], share: float, alpha: float
) -> Optional[float]:
    """Return the largest standard deviation of days at which both error rates are kept.

    :param run: variance of runs; ``repeats`` and ``baseline`` as of :func:`prediction_variance`.
    :returns: as a share; None where the runs alone are too far apart.
    """
    of_runs = prediction_variance(Spread(run, 0.0), repeats, baseline)
    left = largest_error(share, alpha) ** 2 - of_runs
    return math.sqrt(left / (1 + 1 / len(baseline))) if left > 0 else None


def prediction_variance(spread: Spread, repeats: int, baseline: Sequence[int]) -> float:
    """Return the variance of the difference of a campaign from the baseline's mean.

    :param repeats: of the campaign.
    :param baseline: repeats of each campaign of the baseline.
    """
    new = spread.day + spread.run / repeats
    return new + _mean_variance(spread, baseline)


def _mean_variance(spread: Spread, baseline: Sequence[int]) -> float:
    known = math.fsum(spread.day + spread.run / count for count in baseline)
    return known / len(baseline) ** 2


def detectable(
    spread: Spread, repeats: int, baseline: Sequence[int], alpha: float = ALPHA
) -> float:
    """Return the smallest deficit that is found with probability POWER, as a share."""
    error = math.sqrt(prediction_variance(spread, repeats, baseline))
    return -math.expm1(-error * _quantiles(alpha))


def repeats_needed(
    spread: Spread, baseline: Sequence[int], share: float, alpha: float = ALPHA
) -> Optional[int]:
    """Return the repeats with which a deficit is found; None if no number of them suffices."""
    left = largest_error(share, alpha) ** 2 - spread.day - _mean_variance(spread, baseline)
    return _count(spread.run, left, 2)


def baselines_needed(
    spread: Spread, repeats: int, each: int, share: float, alpha: float = ALPHA
) -> Optional[int]:
    """Return the baseline campaigns with which a deficit is found; None if no number suffices.

    :param repeats: of the campaign, ``each`` of one campaign of the baseline.
    """
    left = largest_error(share, alpha) ** 2 - spread.day - spread.run / repeats
    return _count(spread.day + spread.run / each, left, 1)


def repeats_everywhere(
    spread: Spread, campaigns: int, share: float, alpha: float = ALPHA
) -> Optional[int]:
    """Return the repeats, of the campaign and of each of the baseline, that find a deficit.

    :returns: None if no number suffices.
    """
    both = 1 + 1 / campaigns
    return _count(spread.run, largest_error(share, alpha) ** 2 / both - spread.day, 2)


def _count(variance: float, left: float, least: int) -> Optional[int]:
    """Return how many values have a mean of at most the variance ``left``."""
    return max(least, math.ceil(variance / left)) if left > 0 else None


def ways_to_find(
    spread: Spread, repeats: int, baseline: Sequence[int], share: float, alpha: float = ALPHA
) -> str:
    """Return in words what finds a deficit, or that nothing does.

    :param repeats: of the campaign, ``baseline`` of each campaign of the baseline.
    """
    each = round(math.fsum(baseline) / len(baseline))
    more = repeats_needed(spread, baseline, share, alpha)
    campaigns = baselines_needed(spread, repeats, each, share, alpha)
    everywhere = repeats_everywhere(spread, len(baseline), share, alpha)
    ways = [
        f"{more} repeats" if more else "",
        f"{campaigns} baseline campaigns of {each} repeats" if campaigns else "",
        f"{everywhere} repeats here and in each baseline campaign" if everywhere else "",
    ]
    percent = f"{100 * share:.2g} %"
    if any(ways):
        return f"{percent} needs {' or '.join(filter(None, ways))}"
    more_of_both = _repeats_and_campaigns(spread, len(baseline), share, alpha)
    if more_of_both:
        return f"{percent} needs {more_of_both}"
    return f"days differ too much for {percent}, whatever the number of repeats"


def _repeats_and_campaigns(spread: Spread, campaigns: int, share: float, alpha: float) -> str:
    """Return the least runs in all that find a deficit, in _MOST campaigns or fewer, if any."""
    counts = [
        (repeats * (more + 1), repeats, more)
        for more in range(campaigns + 1, _MOST + 1)
        for repeats in [repeats_everywhere(spread, more, share, alpha)]
        if repeats
    ]
    if not counts:
        return ""
    _, repeats, more = min(counts)
    return f"{more} baseline campaigns and {repeats} repeats here and in each of them"
