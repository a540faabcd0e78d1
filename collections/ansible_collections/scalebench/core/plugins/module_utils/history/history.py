"""The history of many campaigns: trends with their levels, change points and outliers."""

from __future__ import annotations

import hashlib
import json
import re
import statistics
from typing import Any, Dict, List, Mapping, Sequence

from ..comparison.cell_pairs import differing
from ..comparison.provenance_changes import provenance_changes, shown
from ..layout.plain_text import plain
from ..records.cells import cell_key
from ..stats.change_points import (
    ALPHA,
    LEAST_FOR_OUTLIERS,
    LOOKS,
    common_change_points,
    outlier_cut,
    outliers,
)
from ..stats.change_points import LEAST as LEAST_FOR_CHANGES
from .trends import gather, select

__all__ = ["METHOD", "SCHEMA", "build_history"]

SCHEMA = 1
METHOD = (
    "One trend holds what was measured under the same conditions; campaigns are in the order in"
    " which they were planned. Its points are medians over the repeats: of samples over the time of"
    " the steps where all of its campaigns tell it, else of the figure of the rule.",
    "Change points: permutation tests for a level that changed, and for one that changed and came"
    " back, then the same in each piece. Of histories without a change, looked at after each of"
    f" {LOOKS} campaigns, at most {ALPHA:.0%} have a mark at any time, however many trends there"
    " are (Benjamini and Hochberg 1995), if campaigns do not resemble those before them; where they"
    f" do, more have. Fewer than {LEAST_FOR_CHANGES} campaigns are not tested.",
    "Outliers: a modified z-score (Iglewicz and Hoaglin 1993) within their level above a limit"
    f" that 1 % of levels without one exceed: {outlier_cut(10):.1f} of 10 campaigns,"
    f" {outlier_cut(30):.1f} of 30. Fewer than {LEAST_FOR_OUTLIERS} campaigns are not judged.",
    "What changed together with a change point was recorded at the same time; it need not be the"
    " cause.",
)


def build_history(
    entries: Sequence[Mapping[str, Any]],
    left_out: Sequence[Mapping[str, str]],
    wanted: Mapping[str, Any],
) -> Dict[str, Any]:
    """Return what history.json holds.

    Beside what ``trends.gather`` returns, a trend has its ``label``, the file name of its
    ``plot``, ``outliers`` (indexes of points), ``levels`` (``start`` and ``stop``, indexes, and
    the ``median`` of the points between them) and ``changes``: by ``index`` the first
    ``campaign`` after a change and its date ``created``, the levels ``before`` and ``after`` it,
    and ``changed``, what its provenance has other than that of the campaign before.

    :param entries: of ``trends.entry``.
    :param left_out: ``folder`` and ``reason`` of each campaign that could not be read.
    :param wanted: of ``trends.select``.
    :raises ValueError: nothing is selected.
    """
    every, twice = gather(entries)
    trends = select(every, wanted)
    provenances = {one["folder"]: one["provenance"] for one in entries}
    places = common_change_points([_medians(trend["points"]) for trend in trends])
    for trend, label, own in zip(trends, _labels(trends), places):
        trend["label"] = label
        trend["plot"] = _file_name(trend)
        trend.update(_marks(trend["points"], own, provenances))
    return {
        "schema": SCHEMA,
        "method": list(METHOD),
        "campaigns": len({one["folder"] for one in entries} - {one["folder"] for one in twice}),
        "trends": trends,
        "left_out": sorted([*left_out, *twice], key=lambda one: one["folder"]),
    }


def _labels(trends: Sequence[Mapping[str, Any]]) -> List[str]:
    """Name each trend by its cell, and by the other conditions where cells of a name differ."""
    short = [cell_key(trend["conditions"]).short for trend in trends]
    labels = []
    for label, trend in zip(short, trends):
        of = trend["conditions"]
        same = [other["conditions"] for name, other in zip(short, trends) if name == label]
        differ = dict.fromkeys(name for other in same for name, *_ in differing(of, other))
        more = [f"{name.replace('_', ' ')} {shown(of[name])}" for name in differ]
        labels.append(plain(", ".join([label, *more])))
    return labels


def _file_name(trend: Mapping[str, Any]) -> str:
    known = json.dumps(trend["conditions"], sort_keys=True, default=str)
    mark = hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:8]
    words = re.sub(r"[^A-Za-z0-9.]+", "-", trend["label"].partition(",")[0]).strip("-.")
    return f"trend-{words[:80]}-{mark}.svg"


def _medians(points: Sequence[Mapping[str, Any]]) -> List[float]:
    return [point["median"] for point in points]


def _marks(
    points: Sequence[Mapping[str, Any]], places: Sequence[int], provenances: Mapping[str, Any]
) -> Dict[str, List[Any]]:
    values = _medians(points)
    levels: List[Dict[str, Any]] = []
    apart: List[int] = []
    for start, stop in zip([0, *places], [*places, len(values)]):
        if stop > start:
            piece = values[start:stop]
            levels.append({"start": start, "stop": stop, "median": statistics.median(piece)})
            apart += [start + index for index in outliers(piece)]
    return {
        "levels": levels,
        "outliers": apart,
        "changes": [
            {
                "index": after["start"],
                "campaign": points[after["start"]]["campaign"],
                "created": points[after["start"]]["created"],
                "before": before["median"],
                "after": after["median"],
                **_changed(points, after["start"], provenances),
            }
            for before, after in zip(levels, levels[1:])  # noqa: RUF007 (pairwise: Python 3.10)
        ],
    }


def _changed(
    points: Sequence[Mapping[str, Any]], index: int, provenances: Mapping[str, Any]
) -> Dict[str, Any]:
    now, before = (provenances[points[place]["folder"]] for place in (index, index - 1))
    return provenance_changes(now, before)
