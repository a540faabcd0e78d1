"""Which earlier campaigns a campaign is compared with, and why not with the others."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..comparison.cell_pairs import differing
from ..comparison.provenance_changes import shown
from ..layout.plain_text import listed
from ..records.cells import cell_key
from ..records.factors import MAX
from ..records.results import Results
from ..results.provenance import calendar_day
from .trends import NOT_RECORDED, conditions, without_copies

__all__ = ["MOST_DAYS", "check_hardware", "chosen_lines", "last", "latest", "names_campaigns"]

_LAST = re.compile(r"last:(\d{1,4})")
# Days of history that show how days differ: a month of campaigns every night. What fewer days cost
# is simulated in docs/comparing-campaigns.md, "A deficit of one percent".
MOST_DAYS = 30

Reasons = List[Dict[str, Any]]


def last(given: str) -> Optional[int]:
    """Return how many campaigns ``last:4`` asks for; None if it is something else.

    :raises ValueError: not a number of 1 or more.
    """
    if not given.startswith("last:"):
        return None
    found = _LAST.fullmatch(given)
    if not found or not int(found[1]):
        raise ValueError("last: needs how many campaigns, 1 or more, as last:4")
    return int(found[1])


def names_campaigns(given: str) -> bool:
    """Return whether a text names campaigns by a pattern, as ``nightly-*``."""
    return any(sign in given for sign in "*?[")


def latest(
    entries: Sequence[Mapping[str, Any]],
    left_out: Sequence[Mapping[str, str]],
    ours: Sequence[Mapping[str, Any]],
    before: str,
    most: int,
    repeats: int = 1,
) -> Tuple[List[str], Reasons]:
    """Return the folders of the last campaigns of the same hardware and plan, latest first.

    Such a campaign has each of our cells, under the same conditions.

    :param entries: of ``trends.entry``; ``left_out`` those that could not be read.
    :param ours: of ``trends.conditions``, of each of our cells, planned or measured.
    :param before: when our campaign was planned (UTC): later ones are not taken; empty for now.
    :param most: how many.
    :param repeats: how many good ones each cell must have: fewer do not stand for a day.
    :returns: the folders, and each ``reason`` with the ``campaigns`` that were not taken for it.
    """
    once, twice = without_copies(entries)
    folders: List[str] = []
    others = [(one["folder"], one["reason"]) for one in (*twice, *left_out)]
    for one in reversed(once):
        reason = _unlike(one, ours, repeats)
        if before and one["created"] >= before:
            reason = "not planned before this campaign"
        elif not reason and len(folders) == most:
            reason = f"older than the last {most}"
        if reason:
            others.append((one["folder"], reason))
        else:
            folders.append(one["folder"])
    return folders, _by_reason(others)


def _unlike(campaign: Mapping[str, Any], ours: Sequence[Mapping[str, Any]], repeats: int) -> str:
    """Return how a campaign differs from ours in hardware or plan; empty where it does not."""
    theirs = [point["conditions"] for point in campaign["points"]]
    good = {cell_key(point["conditions"]): point["n"] for point in campaign["points"]}
    for cell in ours:
        same = [one for one in theirs if cell_key(one) == cell_key(cell)]
        # A search may end at any batch size.
        if not same and cell["batch_size_per_device"] == MAX:
            continue
        if not same:
            return f"it has no cell {cell_key(cell).short}"
        others = [
            f"{name} {shown(theirs)}, here {shown(value)}"
            for name, value, theirs in differing(cell, same[0])
        ]
        if others:
            return f"{cell_key(cell).short}: {'; '.join(others)}"
        if repeats > 1 and good[cell_key(same[0])] < repeats:
            return f"{cell_key(cell).short}: fewer than {repeats} good repeats"
    return ""


def _by_reason(others: Sequence[Tuple[str, str]]) -> Reasons:
    found: Dict[str, List[str]] = {}
    for folder, reason in others:
        found.setdefault(reason, []).append(folder)
    return [{"reason": reason, "campaigns": folders} for reason, folders in found.items()]


def check_hardware(campaigns: Sequence[Results]) -> None:
    """Refuse a baseline whose campaigns ran the same cell on different hardware.

    :raises ValueError: the cell, and two of the campaigns with their hardware.
    """
    first: Dict[Any, Tuple[str, str]] = {}
    for one in campaigns:
        for cell in one["cells"]:
            kind = conditions(cell, one["provenance"].get("nodes") or {})["hardware"]
            if kind == NOT_RECORDED:
                continue
            before, of = first.setdefault(cell_key(cell), (kind, str(one["campaign"])))
            if kind != before:
                raise ValueError(
                    f"mixed hardware: {cell_key(cell).short} ran on {before} in {of}, and on {kind}"
                    f" in {one['campaign']}; name campaigns of one kind of machine, or last:4"
                )


def chosen_lines(campaigns: Sequence[Results], not_chosen: Reasons) -> List[str]:
    """Return the lines that tell which campaigns are the baseline, and why others are not."""
    if not campaigns:
        return ["Baseline: chosen once the cells are planned"]
    named = [f"{one['campaign']}, {one['counts']['cells']} cell(s)" for one in campaigns]
    if len(named) == 1 and not not_chosen:
        return [f"Baseline: {named[0]}"]
    dates = [str(one["provenance"].get("created") or "unknown") for one in campaigns]
    days = len({calendar_day(date) for date in dates})
    return [
        f"Baseline: {len(named)} campaign(s) of {days} day(s)",
        *(f"  {name}, planned {date}" for name, date in zip(named, dates)),
        *(f"  not {listed(one['campaigns'])}: {one['reason']}" for one in not_chosen),
    ]
