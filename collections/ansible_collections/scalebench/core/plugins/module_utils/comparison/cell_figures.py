"""The figures of a cell in a campaign and in those of its baseline."""

from __future__ import annotations

import math
from statistics import geometric_mean
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ..records.results import MeasuredCell, Results
from ..results.cells import deciding_speeds
from ..results.provenance import calendar_day
from ..stats.levels import known_days as days_of
from ..stats.levels import variance_levels
from ..stats.outlying import outlying
from .cell_pairs import Matched, same_cells

__all__ = ["NEW_DAY", "SAME_DAY", "cell_figures", "earlier_days", "known_days", "origin"]

# What a verdict holds for.
SAME_DAY, NEW_DAY = "same day only", "new day"


def origin(results: Results) -> Dict[str, Any]:
    """Return ``campaign``, ``created`` and ``day`` of results."""
    created = results["provenance"].get("created")
    return {"campaign": results["campaign"], "created": created, "day": calendar_day(created)}


def known_days(change: Mapping[str, Any]) -> Tuple[List[List[float]], List[List[float]]]:
    """Return the throughputs of each day of the baseline, and of each other day that is known.

    :param change: a cell of ``compare_campaigns``.
    """
    earlier = change.get("earlier", ())
    return days_of(
        change["baseline_groups"],
        change["baseline_days"],
        [one["speeds"] for one in earlier],
        [one["day"] for one in earlier],
    )


def cell_figures(
    matched: Matched,
    campaign: str,
    origins: Sequence[Mapping[str, Any]],
    history: Sequence[Results] = (),
) -> Dict[str, Any]:
    """Return what is measured of a cell on both sides, by keys of ``compare_campaigns``.

    :param campaign: the name of ours; ``origins`` of each campaign of the baseline.
    :param history: results of other campaigns.
    """
    ours, *groups = deciding_speeds(matched.cell, *matched.others)
    known = [origins[place] for place in matched.places]
    days = [one["day"] for one in known]
    names = [str(one["campaign"]) for one in known]
    speeds = {
        "speeds": ours,
        "baseline_groups": groups,
        "baseline_campaigns": names,
        "baseline_days": days,
        "earlier": earlier_days(matched.cell, [matched.cell, *matched.others], history),
    }
    of_days, others = known_days(speeds)
    levels = variance_levels([*of_days, *others])
    speed, before = geometric_mean(ours), math.exp(variance_levels(of_days).mean)
    return {
        "speed": speed,
        "repeats": len(ours),
        "baseline_speed": before,
        "baseline_repeats": sum(map(len, groups)),
        "ratio": speed / before,
        "scope": NEW_DAY if levels.days > 1 else SAME_DAY,
        "days": len(of_days),
        "known_days": levels.days,
        "run_sd": None if levels.run is None else math.sqrt(levels.run),
        "day_sd": None if levels.day is None else math.sqrt(levels.day),
        **speeds,
        "outlying": _outlying(matched, [campaign, *names], [ours, *groups]),
    }


def earlier_days(
    cell: MeasuredCell, compared: Sequence[MeasuredCell], history: Sequence[Results]
) -> List[Dict[str, Any]]:
    """Return ``campaign``, ``day`` and ``speeds`` of the campaigns that show how days differ.

    Their speeds are of the same kind as those of the ``compared`` cells: by the time of the steps,
    or the rule's.

    :param cell: measured or of a plan, which is looked for in ``history``.
    """
    used = deciding_speeds(*compared)
    same = same_cells(cell, history)
    found = []
    for place, other in zip(same.places, same.others):
        *again, speeds = deciding_speeds(*compared, other)
        if again == used:
            known = origin(history[place])
            found.append({"campaign": known["campaign"], "day": known["day"], "speeds": speeds})
    return found


def _outlying(
    matched: Matched, names: Sequence[str], groups: Sequence[Sequence[float]]
) -> List[Dict[str, Any]]:
    """Return the runs that lie too far from the others of their campaign."""
    if sum(map(len, groups)) <= len(groups) + 1:
        return []
    logs = [[math.log(speed) for speed in group] for group in groups]
    cells = [matched.cell, *matched.others]
    found = []
    for cell, name, group, far in zip(cells, names, groups, outlying(logs)):
        good = [one["repeat"] for one in cell["repeats"] if one["throughput"] is not None]
        found += [
            {"campaign": name, "repeat": good[run - 1], "throughput": group[run - 1]} for run in far
        ]
    return found
