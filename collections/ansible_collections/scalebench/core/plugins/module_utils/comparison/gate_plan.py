"""Which deficit a planned campaign can find against its baseline, and what a smaller one needs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, cast

from ..records.cells import cell_key
from ..records.plans import Cell
from ..records.results import MeasuredCell, Results
from ..results.cells import deciding_speeds
from ..stats.deficit import LEAST_FREEDOM, baseline_spread
from ..stats.detectable import ALPHA, POWER, Spread, detectable, ways_to_find
from ..stats.distributions import chi_square_quantile
from .cell_figures import earlier_days, known_days, origin
from .cell_pairs import same_cells
from .limits import selected

__all__ = ["detectable_lines"]

Rule = Mapping[str, Any]
_MOST_CELLS = 10
# Confidence of the upper limits that a found deficit is stated for. One of the stated size was
# found in 95 to 98 % of simulated campaigns, in 83 to 91 % with the estimates themselves.
_SURE = 0.8


@dataclass(frozen=True)
class _Planned:
    """A planned cell, what the baseline says of it (``runs`` of each day that count) and a rule.

    ``upper``: the limits that the variances of ``spread`` are below with probability _SURE.
    """

    name: str
    repeats: int
    spread: Spread
    upper: Spread
    runs: List[int]
    asked: Dict[str, Any]
    least: float


def detectable_lines(
    cells: Sequence[Cell],
    baselines: Sequence[Results],
    rules: Sequence[Rule],
    history: Sequence[Results] = (),
) -> List[str]:
    """Return for each planned cell the smallest deficit that is found, the largest of them first.

    :param cells: of a plan.
    :param baselines: results of each campaign of the baseline.
    :param history: of other campaigns, which show how days differ.
    :param rules: of the gate, of which rules ``deficit`` say alpha and the deficit to find.
    """
    planned = [_planned(cell, cells, (baselines, history), rules) for cell in cells]
    known = sorted(filter(None, planned), key=lambda one: -one.least)
    if not known:
        return []
    lines = [f"Deficit that is found in {100 * POWER:g} % of campaigns, and how often falsely:"]
    lines += [f"  {_line(one)}" for one in known[:_MOST_CELLS]]
    if len(known) > _MOST_CELLS:
        lines.append(f"  smaller ones in {len(known) - _MOST_CELLS} other cell(s)")
    unknown = len(planned) - len(known)
    if unknown:
        lines.append(
            f"  not known in {unknown} cell(s): the baseline has no two repeats of one day"
        )
    return lines


def _planned(
    cell: Cell,
    cells: Sequence[Cell],
    known: Tuple[Sequence[Results], Sequence[Results]],
    rules: Sequence[Rule],
) -> Optional[_Planned]:
    """Return what is known of a cell; None where the baseline does not show its spread."""
    groups, earlier = _groups(cell, *known)
    if not any(len(group) > 1 for group in groups + earlier) or cell["repeats"] < 2 or not groups:
        return None
    spread, runs = baseline_spread(groups, earlier)
    asked = _asked(cell, cells, rules)
    stated = asked.get("day_sd")
    if stated is not None:
        spread = Spread(spread.run, stated**2, spread.run_freedom)
    upper = _upper(spread, runs)
    least = detectable(spread, cell["repeats"], runs, asked["alpha"], upper)
    name = cell_key(cell).short
    return _Planned(name, cell["repeats"], spread, upper, runs, asked, least)


def _upper(spread: Spread, runs: Sequence[int]) -> Spread:
    """Return the upper limits of the variances (JCGM 100:2008, E.4.3: chi-square).

    That of days is the one of the means of days, less what their runs scatter. A stated variance of
    days is exact.

    :param runs: of each day of the baseline.
    """
    run = spread.run * _larger(spread.run_freedom)
    if not spread.days:
        return replace(spread, run=run)
    of_runs = len(runs) / math.fsum(runs)
    means = (spread.day + spread.run * of_runs) * _larger(spread.days - 1)
    return replace(spread, run=run, day=max(spread.day, means - run * of_runs))


def _larger(freedom: float) -> float:
    return freedom / chi_square_quantile(1 - _SURE, freedom)


def _groups(
    cell: Cell, baselines: Sequence[Results], history: Sequence[Results]
) -> Tuple[List[List[float]], List[List[float]]]:
    """Return the throughputs of a cell on each day of a baseline, and on each other known day."""
    planned = cast(MeasuredCell, cell)
    compared = same_cells(planned, baselines)
    earlier = earlier_days(planned, compared.others, history)
    return known_days(
        {
            "baseline_groups": deciding_speeds(*compared.others),
            "baseline_days": [origin(baselines[place])["day"] for place in compared.places],
            "earlier": earlier,
        }
    )


def _asked(cell: Cell, cells: Sequence[Cell], rules: Sequence[Rule]) -> Dict[str, Any]:
    """Return the rule with the smallest deficit that holds for a cell, with alpha of one cell."""
    of_cell = [rule for rule in rules if rule["metric"] == "deficit" and selected([cell], rule)]
    if not of_cell:
        return {"alpha": ALPHA}
    rule = min(of_cell, key=lambda one: float(one["value"]))
    return {**rule, "alpha": rule.get("alpha", ALPHA) / len(selected(cells, rule))}


def _line(one: _Planned) -> str:
    stated = ", as stated" if "day_sd" in one.asked else ""
    differ = f"differ by {100 * math.sqrt(one.spread.day):.2g} %"
    days = f"{len(one.runs)} day(s); {one.spread.days} known days {differ}"
    if stated:
        days = f"{len(one.runs)} day(s) that {differ}, as stated"
    elif not one.spread.days:
        days = "one day, and so for the same day only"
    wanted = float(one.asked.get("value", one.least / 2))
    smaller = wanted if wanted < one.least else one.least / 2
    enough = 1 + LEAST_FREEDOM - int(one.spread.run_freedom)
    if one.repeats < enough:
        return f"{one.name}: none with {one.repeats} repeats; {enough} show how runs differ"
    ways = ways_to_find(one.upper, one.repeats, one.runs, smaller, one.asked["alpha"])
    return (
        f"{one.name}: {100 * one.least:.2g} %, falsely in {100 * one.asked['alpha']:.2g} %, with"
        f" {one.repeats} repeats against {days}; runs"
        f" differ by {100 * math.sqrt(one.spread.run):.2g} %. At the {100 * _SURE:g} % limits of"
        f" what is estimated, {ways}"
    )
