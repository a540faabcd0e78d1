"""Deficits that explain slow figures with as few causes as possible, each with its error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist, fmean, median, median_low
from typing import Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..stats.distributions import t_quantile, t_upper_tail
from ..stats.statistics import NORMAL_MAD
from .repeats import TOLERANCE, Figures, Precision, noise, of_repeats, precision_at

__all__ = ["ALPHA", "FALSE_ALARMS", "Deficit", "Found", "find", "too_few_figures"]

# Chance to name a cause that is within TOLERANCE of the others, and chance to name one where all
# are sound, each over all comparisons of a diagnosis (Bonferroni). Where the figures are known
# better than the tolerance the former decides, else the latter.
ALPHA, FALSE_ALARMS = 0.05, 0.01
# Of two figures nobody can say which one is usual.
_LEAST_FIGURES = 3
# Chance to see a deficit of the stated size.
_POWER = 0.95
# A cause is looked at closer from here, and a figure contradicts one: standard deviations.
_WORTH_A_LOOK, _CONTRADICTS = 2.5, 4.0
_PASSES = 10


@dataclass(frozen=True)
class Deficit:
    """A cause and how much slower than the others it is, as logarithms (negative).

    ``low`` and ``high``: interval of 95 %. ``p``: probability of such an effect if the cause were
    within :data:`TOLERANCE` of the others, ``by_chance`` the same if it were as fast as they are;
    both corrected for the number of comparisons.
    """

    name: str
    effect: float
    low: float
    high: float
    p: float
    by_chance: float

    @property
    def doubt(self) -> float:
        """Below 1 for a suspect."""
        return max(self.p / ALPHA, self.by_chance / FALSE_ALARMS)


@dataclass(frozen=True)
class Found:
    """The deficits, and ``seen``: the deficit of a cause, by name, that would have been found.

    ``unsure``: figures whose repeats disagree.
    """

    deficits: List[Deficit]
    seen: Dict[str, float]
    unsure: List[str]


class _Clear(NamedTuple):
    """How clear a cause is, in standard deviations, its figures, negative, and its level."""

    deviations: float
    figures: int
    level: float


@dataclass
class _Fit:
    """Levels of causes below ``base``, and which cause holds each figure down, if any.

    ``held``: the figures that each cause holds down, and those that none does, under None.
    """

    base: float
    levels: Dict[str, float]
    holder: Dict[str, Optional[str]]
    held: Dict[Optional[str], List[str]]

    @classmethod
    def at(
        cls,
        base: float,
        levels: Dict[str, float],
        measured: Figures,
        causes: Mapping[str, FrozenSet[str]],
    ) -> _Fit:
        """Return what these levels hold down: each figure is the slowest of its causes'."""
        holder: Dict[str, Optional[str]] = dict.fromkeys(measured.values)
        for name in sorted(levels, key=lambda one: -levels[one]):
            holder.update(dict.fromkeys(causes[name], name))
        held: Dict[Optional[str], List[str]] = {}
        for name, cause in holder.items():
            held.setdefault(cause, []).append(name)
        return cls(base, levels, holder, held)


def too_few_figures(count: int) -> str:
    """Return what is wrong with so few figures of a test, empty for nothing."""
    if count >= _LEAST_FIGURES:
        return ""
    return f"{count} figures: three are needed to tell which one is slow"


def find(
    figures: Mapping[str, Sequence[float]],
    causes: Mapping[str, FrozenSet[str]],
    nodes: Sequence[FrozenSet[str]],
    comparisons: int,
) -> Found:
    """Return the causes without which the figures cannot be explained, the clearest first.

    A figure runs at the level of the slowest of its causes (a pair: of its two nodes, its link,
    the groups it leaves), or at the base where none is slow. So a cause is slow only if all of its
    figures are. Candidates are taken one after the other by medians, with an upper half of the
    nodes as what is usual, so that several do not hide each other. Then all are fitted together by
    least squares, and the least clear one drops out until all are significant: p = P(t) with
    t = (deficit - tolerance) / error, and the same without tolerance. The variance of a figure is
    that of its repeats and that between sound figures; the degrees of freedom are Satterthwaite's
    of both.

    :param figures: logarithms of rates, the repeats of each figure by its name.
    :param causes: the figures that each cause slows down, by its name.
    :param nodes: the figures of each node, of which at least half are not slow.
    :param comparisons: of the whole diagnosis.
    :raises ValueError: fewer than three figures, or one without a value.
    """
    problem = too_few_figures(len(figures))
    if problem:
        raise ValueError(problem)
    measured = of_repeats(figures, nodes)
    base, precision = _usual(measured, nodes)
    fit = _Fit.at(base, {}, measured, causes)
    causes_of = _causes_of(causes)
    clear: Dict[str, Optional[_Clear]] = {}
    looked_at: Iterable[str] = causes
    while len(fit.levels) < len(measured.values) // 2:
        for name in looked_at:
            clear[name] = _clear(causes[name], measured, fit, precision)
        best = _clearest(clear, causes, fit)
        if best is None:
            break
        name, level = best
        fit = _Fit.at(base, {**fit.levels, name: level}, measured, causes)
        # Of the others nothing has changed.
        looked_at = {other for one in causes[name] for other in causes_of[one]}
    while True:
        precision = _precision(measured, fit)
        fit = _fitted(measured, precision, causes, fit.levels, fit.base)
        tested = [_tested(name, causes, fit, precision, comparisons) for name in fit.levels]
        worst = max(tested, key=lambda one: one.doubt, default=None)
        if worst is None or worst.doubt < 1:
            break
        levels = {name: level for name, level in fit.levels.items() if name != worst.name}
        fit = _fitted(measured, precision, causes, levels, fit.base)
    return Found(
        sorted(tested, key=lambda one: (one.p, one.effect)),
        _seen(causes, causes_of, measured, fit, precision, comparisons),
        measured.unsure,
    )


def _seen(
    causes: Mapping[str, FrozenSet[str]],
    causes_of: Mapping[str, Sequence[str]],
    measured: Figures,
    fit: _Fit,
    precision: Precision,
    comparisons: int,
) -> Dict[str, float]:
    """Return the deficits that would have been found with a chance of :data:`_POWER`.

    What all causes have in common is computed once: there are about as many causes as figures.
    """
    free = {*fit.held.get(None, ())}
    weight = 1 / precision.of_mean(free)
    spread = noise(measured)
    power = t_quantile(_POWER, precision.freedom)
    clear = t_quantile(1 - ALPHA / comparisons, precision.freedom)
    by_chance = t_quantile(1 - FALSE_ALARMS / comparisons, precision.freedom)
    seen = {}
    for cause, covered in causes.items():
        if cause in fit.levels or len(covered) == len(measured.values):
            continue
        own = covered & free
        beside = weight - 1 / precision.of_mean(own) if own and own < free else weight
        error = math.sqrt(precision.of_mean(covered) + 1 / beside)
        depth = (max(clear, by_chance - TOLERANCE / error) + power) * error
        if len(covered) > 1:
            # Several slow figures can count as usual up to here, each beside a best one: _usual.
            usual = (_CONTRADICTS + math.sqrt(2) * power) * spread
            # What differs from another cause in few figures is told from it by each of these.
            others = (causes[other] for name in covered for other in causes_of[name])
            alike = any(
                other != covered and 2 * len(covered & other) > max(len(covered), len(other))
                for other in others
            )
            share = len(covered) / len(measured.values)
            looked_at = math.inf if alike else _looked_at(share, spread, error, power)
            depth = max(depth, min(usual, looked_at))
        seen[cause] = 1 - math.exp(-TOLERANCE - depth)
    return seen


def _looked_at(share: float, spread: float, error: float, power: float) -> float:
    """Return the depth from which a cause is looked at closer, while its figures count as usual.

    They lower the median of what is usual, and widen the median absolute deviation around it.

    :param share: of the figures that are the cause's.
    :param spread: between sound figures.
    """
    if share >= 0.5:
        return math.inf
    normal = NormalDist()
    lower = -normal.inv_cdf((0.5 - share) / (1 - share))
    wider = normal.inv_cdf(0.5 + 0.25 / (1 - share)) / normal.inv_cdf(0.75)
    # 1.25: a median's standard error, over a mean's.
    return lower * spread + (_WORTH_A_LOOK * wider + 1.25 * power) * error


def _usual(measured: Figures, nodes: Sequence[FrozenSet[str]]) -> tuple[float, Precision]:
    """Return the level of what is not slow, and the precision by what lies around it.

    A node is as fast as its best figure at least, of those whose repeats agree where these are
    most. Half of them reach a level; what is not clearly below that is usual.
    """
    values = measured.values
    sure = [own.difference(measured.unsure) for own in nodes]
    told = [one if 2 * len(one) > len(own) else own for one, own in zip(sure, nodes) if own]
    best = sorted((max(values[name] for name in own) for own in told), reverse=True)
    reached = median_low(best[: (len(best) + 1) // 2]) if best else median(values.values())
    lowest = reached - TOLERANCE - _CONTRADICTS * noise(measured)
    usual = [one for one in values.values() if one >= lowest]
    base = median(usual)
    scatter = (NORMAL_MAD * median(abs(one - base) for one in usual)) ** 2
    # The median absolute deviation is as precise as a standard deviation of 0.37 as many values.
    return base, precision_at(measured, scatter, 0.37 * (len(usual) - 1))


def _precision(measured: Figures, fit: _Fit) -> Precision:
    """Return the precision by what a fit leaves."""
    left = [
        measured.values[name] - fit.base - (fit.levels[cause] if cause else 0.0)
        for name, cause in fit.holder.items()
        if name not in measured.unsure
    ]
    freedom = len(left) - 1 - len(fit.levels)
    scatter = sum(one * one for one in left) / freedom if freedom > 0 else 0.0
    return precision_at(measured, scatter, max(freedom, 0))


def _causes_of(causes: Mapping[str, FrozenSet[str]]) -> Dict[str, List[str]]:
    """Return the causes of each figure."""
    causes_of: Dict[str, List[str]] = {}
    for name, covered in causes.items():
        for one in covered:
            causes_of.setdefault(one, []).append(name)
    return causes_of


def _clear(
    covered: FrozenSet[str], measured: Figures, fit: _Fit, precision: Precision
) -> Optional[_Clear]:
    """Return how clearly a cause explains what a fit leaves; None where it does not."""
    depth = {one: measured.values[one] - fit.base for one in covered}
    free = [depth[one] for one in covered if fit.holder[one] is None]
    guess = min(median(free or depth.values()), -TOLERANCE)
    before = {one: fit.levels.get(fit.holder[one] or "", 0.0) for one in covered}
    # What another cause holds down as far says nothing of this one.
    inside = [one for one in covered if before[one] > guess + TOLERANCE / 2]
    if not inside:
        return None
    level = median(depth[one] for one in inside)
    if any(
        depth[one] > level + TOLERANCE + _CONTRADICTS * math.sqrt(precision.variances[one])
        for one in inside
    ):
        return None
    gain = -median(depth[one] - before[one] for one in inside)
    return _Clear((gain - TOLERANCE) / math.sqrt(precision.of_mean(inside)), -len(covered), level)


def _clearest(
    clear: Mapping[str, Optional[_Clear]], causes: Mapping[str, FrozenSet[str]], fit: _Fit
) -> Optional[Tuple[str, float]]:
    """Return the cause that explains most of what a fit leaves, with its level, if it is clear."""
    best, clearest = None, (_WORTH_A_LOOK, 0)
    free = {*fit.held.get(None, ())}
    for name, one in clear.items():
        # Of two that explain the same figures, the one that covers no others.
        if one and one[:2] > clearest and name not in fit.levels and not free <= causes[name]:
            best, clearest = (name, one.level), one[:2]
    return best


def _fitted(
    measured: Figures,
    precision: Precision,
    causes: Mapping[str, FrozenSet[str]],
    levels: Mapping[str, float],
    base: float,
) -> _Fit:
    """Return base and levels by weighted least squares; causes that hold nothing down drop out."""
    before = None
    for _ in range(_PASSES):
        fit = _Fit.at(base, dict(levels), measured, causes)
        if fit.holder == before:
            break
        before = fit.holder
        if None in fit.held:
            base = _mean(measured, precision, fit.held[None])
        levels = {
            name: _mean(measured, precision, fit.held[name]) - base
            for name in levels
            if name in fit.held
        }
    return _Fit(base, dict(levels), fit.holder, fit.held)


def _mean(measured: Figures, precision: Precision, names: Sequence[str]) -> float:
    weights = [1 / precision.variances[name] for name in names]
    total = sum(weight * measured.values[name] for name, weight in zip(names, weights))
    return total / sum(weights)


def _tested(
    name: str,
    causes: Mapping[str, FrozenSet[str]],
    fit: _Fit,
    precision: Precision,
    comparisons: int,
) -> Deficit:
    """Return the deficit of a cause; p against the level that its figures have without it."""
    inside = fit.held.get(name, [])
    without = [
        min(
            (
                level
                for other, level in fit.levels.items()
                if other != name and one in causes[other]
            ),
            default=0.0,
        )
        for one in inside
    ]
    error = math.sqrt(precision.of_mean(inside) + precision.of_mean(fit.held.get(None, ())))
    gain = fmean(without) - fit.levels[name]
    p, by_chance = (
        min(1.0, t_upper_tail((gain - alike) / error, precision.freedom) * comparisons)
        for alike in (TOLERANCE, 0.0)
    )
    wide = t_quantile(0.975, precision.freedom) * error
    level = fit.levels[name]
    return Deficit(name, level, level - wide, level + wide, p, by_chance)
