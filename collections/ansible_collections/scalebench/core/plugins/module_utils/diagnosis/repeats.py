"""From repeats of figures to one value each, without disturbed repeats; how well it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import Dict, FrozenSet, Iterable, List, Mapping, Sequence

from ..stats.statistics import mad_scale

__all__ = [
    "TOLERANCE",
    "Figures",
    "Precision",
    "noise",
    "of_repeats",
    "precision_at",
    "undisturbed",
]

# Sound nodes and links differ by so much, as a logarithm: 3 %.
TOLERANCE = 0.03
# Standard deviation between sound figures that is assumed before they are seen, and for as many
# degrees of freedom: few figures alone cannot tell.
_UNLIKE, _ASSUMED = TOLERANCE / 3, 4
# A repeat further from its figure's median, in standard deviations of all repeats, is disturbed.
_FAR = 4.0
# With so many of its repeats disturbed, or with so many times the spread of the others, nobody can
# tell which of a figure's repeats are the usual ones.
_UNSURE, _WIDE = 0.4, 4.0
# With so many times the spread of the others in the figures of one node, they are all unsure: of
# five repeats each, some scatter little by chance.
_SCATTERED = 3.0
# A figure that scatters so many times as much as usual, with disturbed repeats at _FAR, has its own
# variance: else those of its repeats that happen to agree would make it a suspect.
_LOOSE = 2.0
_PASSES = 10
_LEAST = 1e-6


@dataclass(frozen=True)
class Figures:
    """Values and their variances by name of the figure, in squares of the unit of the repeats.

    ``freedom``: degrees of freedom of the variances. ``unsure``: the figures whose repeats
    disagree, which have a variance of their own.
    """

    values: Dict[str, float]
    variances: Dict[str, float]
    freedom: float
    unsure: List[str]


@dataclass(frozen=True)
class Precision:
    """Variance of each figure, its difference from other sound ones included, and its freedom."""

    variances: Dict[str, float]
    freedom: float

    def of_mean(self, names: Iterable[str]) -> float:
        """Return the variance of the weighted mean of figures."""
        return 1 / sum(1 / self.variances[name] for name in names)


def of_repeats(
    figures: Mapping[str, Sequence[float]], nodes: Sequence[FrozenSet[str]] = ()
) -> Figures:
    """Return each figure's mean without its disturbed repeats, and how well that is known.

    What is disturbed is told by the median and the median absolute deviation. The other repeats of
    all figures have one variance, so that few repeats of each make many degrees of freedom. A
    figure of which two fifths are disturbed keeps them. It has a variance of its own, and so has
    one that scatters twice as much as usual, and all of a node whose figures scatter three times
    as much.

    :param figures: without what a repeat of all has in common, which takes its part of the freedom.
    :param nodes: the figures of each node.
    """
    own = {name: _robust_spread([repeats]) for name, repeats in figures.items()}
    # Of one or two figures that is known too badly.
    of_nodes = [
        (one, _robust_spread([figures[name] for name in one])) for one in nodes if len(one) > 2
    ]
    spread = max(median(own.values()), _LEAST)
    for _ in range(_PASSES):
        scattered = {name for one, wide in of_nodes if wide > _SCATTERED * spread for name in one}
        near = {
            name: one if one > _WIDE * spread or (name in scattered and one > spread) else spread
            for name, one in own.items()
        }
        kept = {name: _kept(repeats, _FAR * near[name]) for name, repeats in figures.items()}
        disagree = {name for name, repeats in figures.items() if _disagree(repeats, kept[name])}
        unsure = [
            name for name in figures if name in disagree or name in scattered or near[name] > spread
        ]
        sure = [kept[name] for name in figures if name not in unsure and len(kept[name]) > 1]
        freedom = sum(len(repeats) - 1 for repeats in sure)
        squares = sum(map(_squares, sure))
        before, spread = spread, max((squares / freedom) ** 0.5, _LEAST) if freedom else spread
        if abs(spread - before) <= 1e-3 * spread:
            break
    used = {name: repeats if name in disagree else kept[name] for name, repeats in figures.items()}
    left = 1 - 1 / len(figures)
    return Figures(
        {name: fmean(repeats) for name, repeats in used.items()},
        {
            name: max(
                spread**2,
                _loose_variance(figures[name], spread),
                _own_variance(repeats) if name in unsure else 0.0,
            )
            / (left * len(repeats))
            for name, repeats in used.items()
        },
        left * freedom,
        unsure,
    )


def undisturbed(figures: Mapping[str, Sequence[float]]) -> Dict[str, List[float]]:
    """Return the repeats with the figure's median in place of disturbed ones."""
    far = _FAR * max(median(_robust_spread([repeats]) for repeats in figures.values()), _LEAST)
    centres = {name: median(repeats) for name, repeats in figures.items()}
    return {
        name: [value if abs(value - centres[name]) <= far else centres[name] for value in repeats]
        for name, repeats in figures.items()
    }


def noise(measured: Figures) -> float:
    """Return the standard deviation of a figure, with that assumed between sound ones."""
    return math.sqrt(median(measured.variances.values()) + _UNLIKE**2)


def precision_at(measured: Figures, scatter: float, freedom: float) -> Precision:
    """Return the precision at a scatter of sound figures, with what was assumed before."""
    repeats = median(measured.variances.values())
    excess = max(scatter - repeats, 0.0)
    known = _ASSUMED + freedom
    unlike = (_ASSUMED * _UNLIKE**2 + freedom * excess) / known
    both = (repeats + unlike) ** 2 / (repeats**2 / max(measured.freedom, 1) + unlike**2 / known)
    variances = {name: one + unlike for name, one in measured.variances.items()}
    return Precision(variances, both)


def _robust_spread(figures: Sequence[Sequence[float]]) -> float:
    """Return the standard deviation of a repeat, by the median absolute deviation."""
    centred = [(median(repeats), repeats) for repeats in figures]
    return mad_scale(min(map(len, figures))) * median(
        abs(value - centre) for centre, repeats in centred for value in repeats
    )


def _own_variance(repeats: Sequence[float]) -> float:
    """Return the variance of repeats, as large as Student's t with so few has it."""
    return _squares(repeats) / max(len(repeats) - 3, 1)


def _loose_variance(repeats: Sequence[float], spread: float) -> float:
    """Return the variance of repeats with disturbed ones at _FAR; 0 where it is about usual."""
    centre, far = median(repeats), _FAR * spread
    within = [min(max(value - centre, -far), far) for value in repeats]
    squares = sum(value * value for value in within)
    loose = squares > (len(within) - 1) * (_LOOSE * spread) ** 2
    return _own_variance(within) if loose else 0.0


def _squares(repeats: Sequence[float]) -> float:
    centre = fmean(repeats)
    return sum((value - centre) ** 2 for value in repeats)


def _kept(repeats: Sequence[float], far: float) -> List[float]:
    centre = median(repeats)
    return [value for value in repeats if abs(value - centre) <= far] or [centre]


def _disagree(repeats: Sequence[float], kept: Sequence[float]) -> bool:
    return len(repeats) - len(kept) >= _UNSURE * len(repeats)
