"""Rules of a gate on one figure of a cell: its interval against the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple

from ..records.cells import cell_key
from ..records.results import MeasuredCell, Results
from ..results.cells import deciding_figures, deciding_speeds, ok_speeds
from ..results.scaling import base_cells, efficiency
from ..stats.distributions import chi_square_quantile
from ..stats.log_ratio import rounding
from ..stats.median_ratio import interval_of_median, ratio_of_medians
from .gate_outcomes import UNDECIDED, Outcome, by_interval
from .limits import floor_of

__all__ = ["figure_bounds", "figure_limit", "figure_outcomes"]

Bounds = Optional[Tuple[float, float]]
Base = Optional[MeasuredCell]


def _scaling(cell: MeasuredCell, base: Base, level: float, _: float = 0.0) -> Bounds:
    if base is None or cell["topology"] == base["topology"]:
        return (1.0, 1.0)
    speeds, below = deciding_speeds(cell, base)
    return _bounds(ratio_of_medians(speeds, below, level))


def _efficiency(cell: MeasuredCell, base: Base, level: float, _: float) -> Bounds:
    own = cell["topology"]
    speedup = _scaling(cell, base, level)
    ideal = efficiency(1.0, own, base["topology"] if base else own)
    return (speedup[0] * ideal, speedup[1] * ideal) if speedup and ideal else None


def _throughput(cell: MeasuredCell, _: Base, level: float, day: float) -> Bounds:
    (speeds,) = deciding_speeds(cell)
    return _bounds(interval_of_median(speeds, level, day))


def _cv(cell: MeasuredCell, _: Base, level: float, __: float) -> Bounds:
    """Return the interval of the coefficient of variation, that of the standard deviation.

    A variance of n normal values is distributed as chi-square (JCGM 100:2008, E.4.3).
    """
    speeds, cv = ok_speeds(cell), _own_cv(cell)
    if cv is None:
        return None
    floor = rounding(math.log(math.fsum(speeds) / len(speeds)))
    degrees, variance = len(speeds) - 1, max(cv**2, floor)
    tail = (1 - level) / 2
    low, high = (
        math.sqrt(variance * degrees / chi_square_quantile(probability, degrees))
        for probability in (1 - tail, tail)
    )
    return low, high


def _own_cv(cell: MeasuredCell) -> Optional[float]:
    cv: Optional[float] = cell["spread"]["cv"] if cell["spread"] else None
    return cv


def _bounds(interval: Mapping[str, Any]) -> Bounds:
    return None if interval["low"] is None else (interval["low"], interval["high"])


def _same(_: MeasuredCell, value: float) -> Tuple[float, str]:
    return value, ""


@dataclass(frozen=True)
class _Figure:
    """A figure: its name, its value in a cell, and its interval.

    That follows from the repeats and the known standard deviation of days, which only a throughput
    contains: a ratio is one of the same day. ``limit``: what the value of a rule means for a cell,
    and in words which it is where it is not the same for all; it raises where there is none.
    """

    name: str
    get: Callable[[MeasuredCell], Optional[float]]
    interval: Callable[[MeasuredCell, Base, float, float], Bounds]
    least: bool = True
    limit: Callable[[MeasuredCell, Any], Tuple[float, str]] = _same


_FIGURES: Mapping[str, _Figure] = {
    "min_efficiency": _Figure(
        "efficiency", lambda cell: deciding_figures(cell).get("efficiency"), _efficiency
    ),
    "min_throughput": _Figure(
        "throughput", lambda cell: deciding_figures(cell).get("median_speed"), _throughput
    ),
    "min_busbw": _Figure(
        "bus bandwidth",
        lambda cell: deciding_figures(cell).get("median_speed"),
        _throughput,
        limit=floor_of,
    ),
    "min_speedup": _Figure(
        "speed-up", lambda cell: deciding_figures(cell).get("speedup"), _scaling
    ),
    "max_cv": _Figure("cv", _own_cv, _cv, least=False),
}


def figure_limit(cell: MeasuredCell, metric: str, value: Any) -> Tuple[float, str]:
    """Return the limit that a rule means for a cell, and in words which it is; empty if it is one.

    :param value: of the rule.
    :raises ValueError: why it means none for this cell.
    """
    return _FIGURES[metric].limit(cell, value)


def figure_bounds(
    cell: MeasuredCell,
    cells: Sequence[MeasuredCell],
    metric: str,
    level: float,
    day: float = 0.0,
) -> Tuple[float, float, float]:
    """Return a figure of a cell with the bounds of its interval.

    :param cells: all of the results, among them the one that a speed-up is relative to.
    :param metric: a rule of ``gate_rules.METRICS`` on a figure.
    :param day: standard deviation of days that is stated for it, as a share.
    :raises ValueError: why there is no figure, or no interval.
    """
    figure = _FIGURES[metric]
    value = figure.get(cell)
    if value is None:
        raise ValueError(_missing(cell, figure))
    bounds = figure.interval(cell, base_cells(cells).get(cell_key(cell).group), level, day)
    if bounds is None:
        raise ValueError("one repeat shows no spread")
    return (value, *bounds)


def figure_outcomes(
    results: Results,
    cells: Sequence[MeasuredCell],
    metric: str,
    value: Any,
    alpha: float,
    day: float = 0.0,
) -> List[Outcome]:
    """Return the outcome of each cell against the limit of a figure.

    A cell passes where its figure is shown to keep the limit, at ``alpha``, and is broken where it
    is shown not to, at ``alpha`` for all cells together (Bonferroni).

    :param cells: those of the results that the rule selects.
    :param metric: a rule of ``gate_rules.METRICS`` on a figure.
    :param value: of the rule.
    :param day: standard deviation of days that is stated for it, as a share.
    """
    figure = _FIGURES[metric]
    bases = base_cells(results["cells"])
    shown = [cell for cell in cells if figure.get(cell) is not None]
    levels = (1 - 2 * alpha, 1 - 2 * alpha / max(1, len(shown)))
    return [_outcome(cell, figure, bases, value, (*levels, day)) for cell in cells]


def _outcome(
    cell: MeasuredCell,
    figure: _Figure,
    bases: Mapping[Any, MeasuredCell],
    of_rule: Any,
    asked: Tuple[float, float, float],
) -> Outcome:
    """Return the outcome of a cell.

    :param of_rule: its value.
    :param asked: the level of its interval, that of all cells together, and the day's spread.
    """
    *levels, day = asked
    name, value = cell_key(cell).short, figure.get(cell)
    if figure.least and cell["state"] == "invalid":
        return Outcome(UNDECIDED, f"{name} is {cell['speedup_reason']}", no_data=True)
    if value is None:
        return Outcome(
            UNDECIDED, f"{name} has no {figure.name}: {_missing(cell, figure)}", no_data=True
        )
    try:
        limit, which = figure.limit(cell, of_rule)
    except ValueError as error:
        return Outcome(UNDECIDED, f"{name}: {error}", no_data=True)
    base = bases.get(cell_key(cell).group)
    own, every = (figure.interval(cell, base, level, day) for level in levels)
    text = f"{name}: {figure.name} {value:.4g}"
    if own is None or every is None:
        return Outcome(UNDECIDED, f"{text}: one repeat shows no spread", no_data=True)
    verdict = by_interval(*own, limit, figure.least, *every)
    if own[0] < own[1]:
        text += f" [{own[0]:.4g}, {own[1]:.4g}]"
    text += f", {which}" if which else ""
    if verdict == UNDECIDED:
        text += f": the repeats do not show on which side of {limit:g} it is"
    # As a share: the cells of a table of floors have different limits.
    margin = (value - limit) / (limit or 1)
    return Outcome(verdict, text, margin if figure.least else -margin)


def _missing(cell: MeasuredCell, figure: _Figure) -> str:
    if not figure.least and cell["spread"]:
        return "one repeat only"
    if figure.name in ("efficiency", "speed-up") and cell["speedup_reason"]:
        return str(cell["speedup_reason"])
    return "no repeat gave a speed"
