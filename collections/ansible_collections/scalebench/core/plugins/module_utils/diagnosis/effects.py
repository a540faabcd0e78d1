"""Deficits that explain slow figures with as few causes as possible, each with its error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import Dict, FrozenSet, List, Mapping, Sequence

from ..stats.student_t import quantile, upper_tail

__all__ = ["ALPHA", "TOLERANCE", "Deficit", "Found", "find"]

# Chance of a false alarm over all comparisons of a diagnosis (Bonferroni).
ALPHA = 0.005
# Sound nodes and links differ by so much, as a logarithm: 3 %.
TOLERANCE = 0.03
# Chance to see a deficit of the stated size.
_POWER = 0.95
_PASSES = 30


@dataclass(frozen=True)
class Deficit:
    """A cause and how much slower than the others it is, as logarithms (negative).

    ``low`` and ``high``: interval of 95 %. ``p``: probability of such an effect if the cause were
    within :data:`TOLERANCE` of the others, corrected for the number of comparisons.
    """

    name: str
    effect: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Found:
    """The deficits, and ``seen``: the deficit of a cause, by name, that would have been found."""

    deficits: List[Deficit]
    seen: Dict[str, float]


@dataclass(frozen=True)
class _Trial:
    name: str
    t: float
    error: float
    freedom: int


def find(
    figures: Mapping[str, Sequence[float]],
    causes: Mapping[str, FrozenSet[str]],
    comparisons: int,
) -> Found:
    """Return the causes without which the figures cannot be explained, the clearest first.

    A figure is mean + the effects of its causes + noise (of pairs: of its two nodes, of its link,
    of the groups it leaves). The median over the repeats of each figure is explained. The cause
    with the largest t = (deficit - tolerance) / error is taken, all taken effects are fitted anew
    by least squares, and so on until the next is not significant. Every cause is tried with the
    residuals that it leaves itself: a slow node explains all of its pairs and leaves none, one of
    its links leaves the others, and the reverse. The error is the larger of what the repeats and
    what the residuals say.

    :param figures: logarithms of rates, the repeats of each figure by its name.
    :param causes: the figures that each cause slows down, by its name.
    :param comparisons: of the whole diagnosis.
    :raises ValueError: fewer than three figures, or one without a value.
    """
    if len(figures) < 3:
        raise ValueError(f"{len(figures)} figures: three are needed to tell which one is slow")
    values = {name: median(repeats) for name, repeats in figures.items()}
    noise, freedom = _noise_of_a_median(figures)
    taken: Dict[str, float] = {}
    trials: Dict[str, _Trial] = {}
    limit = max(1, len(causes) // 4)
    while True:
        rest = _residuals(values, causes, taken)
        tried = [
            _try(name, covered, rest, noise, freedom, len(taken))
            for name, covered in causes.items()
            if name not in taken and len(covered) < len(rest)
        ]
        best = max(tried, key=lambda one: one.t, default=None)
        if best is None or len(taken) == limit or _corrected(best, comparisons) >= ALPHA:
            break
        trials[best.name] = best
        taken = _fit(values, causes, [*taken, best.name])
    return Found(
        [_deficit(trials[name], taken[name], comparisons) for name in taken],
        {one.name: _visible(one, comparisons) for one in tried},
    )


def _noise_of_a_median(figures: Mapping[str, Sequence[float]]) -> tuple[float, int]:
    """Return the standard deviation of a figure's median, and degrees of freedom, by its repeats.

    The median of n normal values scatters 1.2533 times as much as their mean (n large); 1 or 2
    values have their mean.
    """
    squares, freedom, sizes = 0.0, 0, []
    for repeats in figures.values():
        centre = fmean(repeats)
        squares += sum((value - centre) ** 2 for value in repeats)
        freedom += len(repeats) - 1
        sizes.append(len(repeats))
    if not freedom:
        return 0.0, 0
    size = fmean(sizes)
    return math.sqrt(squares / freedom / size) * (1.2533 if size > 2 else 1.0), freedom


def _residuals(
    values: Mapping[str, float], causes: Mapping[str, FrozenSet[str]], taken: Mapping[str, float]
) -> Dict[str, float]:
    rest = dict(values)
    for cause, effect in taken.items():
        for name in causes[cause]:
            rest[name] -= effect
    return rest


def _try(
    name: str,
    covered: FrozenSet[str],
    rest: Mapping[str, float],
    noise: float,
    freedom: int,
    taken: int,
) -> _Trial:
    """Return how clearly a cause explains the residuals: its figures against the others."""
    total, square = sum(rest.values()), sum(value * value for value in rest.values())
    inside = [rest[one] for one in covered]
    here, others = len(inside), len(rest) - len(inside)
    mean_here, mean_others = fmean(inside), (total - sum(inside)) / others
    left = max(square - here * mean_here**2 - others * mean_others**2, 0.0)
    residual_freedom = len(rest) - 2 - taken
    scatter = math.sqrt(left / residual_freedom) if residual_freedom > 0 else 0.0
    scale = max(noise, scatter, 1e-6)
    error = scale * math.sqrt(1 / here + 1 / others)
    both = max(1, freedom + max(residual_freedom, 0))
    return _Trial(name, (mean_others - mean_here - TOLERANCE) / error, error, both)


def _fit(
    values: Mapping[str, float], causes: Mapping[str, FrozenSet[str]], names: Sequence[str]
) -> Dict[str, float]:
    """Return the effects of the causes by least squares, by passes over them."""
    effects = dict.fromkeys(names, 0.0)
    mean = fmean(values.values())
    rest = {name: value - mean for name, value in values.items()}
    for _ in range(_PASSES):
        change = fmean(rest.values())
        rest = {name: value - change for name, value in rest.items()}
        for cause in names:
            change = fmean(rest[name] for name in causes[cause])
            effects[cause] += change
            for name in causes[cause]:
                rest[name] -= change
    return effects


def _corrected(trial: _Trial, comparisons: int) -> float:
    return min(1.0, upper_tail(trial.t, trial.freedom) * comparisons)


def _deficit(trial: _Trial, effect: float, comparisons: int) -> Deficit:
    wide = quantile(0.975, trial.freedom) * trial.error
    return Deficit(trial.name, effect, effect - wide, effect + wide, _corrected(trial, comparisons))


def _visible(trial: _Trial, comparisons: int) -> float:
    """Return the deficit, as a share from 0 to 1, that is found with a chance of 95 %."""
    needed = quantile(1 - ALPHA / comparisons, trial.freedom) + quantile(_POWER, trial.freedom)
    return 1 - math.exp(-TOLERANCE - needed * trial.error)
