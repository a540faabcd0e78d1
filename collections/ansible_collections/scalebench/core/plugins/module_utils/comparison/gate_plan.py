"""Which deficit a planned campaign can find against its baseline, and what a smaller one needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..records.cells import cell_key
from ..records.plans import Cell
from ..records.results import Results
from ..results.cells import deciding_speeds, ok_speeds
from ..stats import chi_square
from ..stats.deficit import LEAST_FREEDOM, baseline_spread
from ..stats.detectable import ALPHA, POWER, Spread, detectable, ways_to_find
from ..stats.levels import by_day
from .cell_figures import origin
from .limits import selected

__all__ = ["detectable_lines"]

Rule = Mapping[str, Any]
_MOST_CELLS = 10
# Confidence of the upper limits that a found deficit is stated for: with the estimates themselves
# it was found in 83 to 91 % of simulated campaigns, with these in 95 to 98 %.
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
    cells: Sequence[Cell], baselines: Sequence[Results], rules: Sequence[Rule]
) -> List[str]:
    """Return for each planned cell the smallest deficit that is found, the largest of them first.

    :param cells: of a plan.
    :param baselines: results of each campaign of the baseline.
    :param rules: of the gate, of which rules ``deficit`` say alpha and the deficit to find.
    """
    planned = [_planned(cell, cells, baselines, rules) for cell in cells]
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
    baselines: Sequence[Results],
    rules: Sequence[Rule],
) -> Optional[_Planned]:
    """Return what is known of a cell; None where the baseline does not show its spread."""
    groups = _groups(cell, baselines)
    if not any(len(group) > 1 for group in groups) or cell["repeats"] < 2:
        return None
    spread, runs = baseline_spread(groups)
    asked = _asked(cell, cells, rules)
    stated = asked.get("day_sd")
    if stated is not None:
        spread = Spread(spread.run, stated**2)
    upper = _upper(spread, runs, stated is not None)
    least = detectable(upper, cell["repeats"], runs, asked["alpha"])
    name = cell_key(cell).short
    return _Planned(name, cell["repeats"], spread, upper, runs, asked, least)


def _upper(spread: Spread, runs: Sequence[int], stated: bool) -> Spread:
    """Return the upper limits of the variances (JCGM 100:2008, E.4.3: chi-square).

    :param runs: of each day; ``stated`` whether the variance of the days is, and so is exact.
    """
    by_days = spread.day > 0 and len(runs) > 1 and not stated
    freedom = max(1, len(runs) - 1 if by_days else sum(runs) - len(runs))
    larger = freedom / chi_square.quantile(1 - _SURE, freedom)
    return Spread(spread.run * larger, spread.day * (1 if stated else larger))


def _groups(cell: Cell, baselines: Sequence[Results]) -> List[List[float]]:
    """Return the throughputs of a cell in a baseline, a list for each day."""
    theirs = [
        (one, origin(results)["day"])
        for results in baselines
        for one in results["cells"]
        if cell_key(one) == cell_key(cell) and ok_speeds(one)
    ]
    speeds = deciding_speeds(*(one for one, _ in theirs))
    return by_day(speeds, [day for _, day in theirs])


def _asked(cell: Cell, cells: Sequence[Cell], rules: Sequence[Rule]) -> Dict[str, Any]:
    """Return the rule with the smallest deficit that holds for a cell, with alpha of one cell."""
    of_cell = [rule for rule in rules if rule["metric"] == "deficit" and selected([cell], rule)]
    if not of_cell:
        return {"alpha": ALPHA}
    rule = min(of_cell, key=lambda one: float(one["value"]))
    return {**rule, "alpha": rule.get("alpha", ALPHA) / len(selected(cells, rule))}


def _line(one: _Planned) -> str:
    stated = ", as stated" if "day_sd" in one.asked else ""
    days = f"{len(one.runs)} day(s) that differ by {100 * math.sqrt(one.spread.day):.2g} %{stated}"
    if len(one.runs) == 1 and not stated:
        days = "one day, and so for the same day only"
    wanted = float(one.asked.get("value", one.least / 2))
    smaller = wanted if wanted < one.least else one.least / 2
    enough = 1 + LEAST_FREEDOM - sum(count - 1 for count in one.runs)
    if one.repeats < enough:
        return f"{one.name}: none with {one.repeats} repeats; {enough} show how runs differ"
    ways = ways_to_find(one.upper, one.repeats, one.runs, smaller, one.asked["alpha"])
    return (
        f"{one.name}: {100 * one.least:.2g} %, falsely in {100 * one.asked['alpha']:.2g} %, with"
        f" {one.repeats} repeats against {days}; runs"
        f" differ by {100 * math.sqrt(one.spread.run):.2g} %. At the {100 * _SURE:g} % limits of"
        f" what is estimated, {ways}"
    )
