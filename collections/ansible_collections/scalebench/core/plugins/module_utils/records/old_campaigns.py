"""Which folders of campaigns a clean-up removes."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import groupby
from typing import List, Optional, Sequence, TypedDict

from .node_names import folded

__all__ = ["Decision", "Folder", "choose", "days", "summary"]


class Folder(TypedDict):
    """The folder of one campaign; ``nodes`` are those of its plan, None where that is unknown."""

    name: str
    nodes: Optional[List[str]]
    bytes: int
    days: float  # since anything in it was last changed


class Decision(Folder):
    """A folder, and whether it is removed."""

    removed: bool
    why: str  # it stays; empty if it is removed


def days(given: str) -> float:
    """Return an age.

    :raises ValueError: it is no number, or negative: all folders would be older.
    """
    try:
        age = float(given)
    except ValueError:
        age = -1
    if not 0 <= age < float("inf"):
        raise ValueError(f"older_than={given}: give days, a number of 0 or more")
    return age


def choose(
    folders: Sequence[Folder],
    campaigns: Sequence[str],
    older_than: Optional[float],
    in_use: Sequence[str],
    unasked: Sequence[str] = (),
) -> List[Decision]:
    """Decide about each folder, by name.

    :param campaigns: names or patterns; empty for all that are old enough.
    :param older_than: days; None for any age, which needs `campaigns`.
    :param in_use: campaigns that hold a node now.
    :param unasked: nodes that were not asked for whom they are claimed.
    """
    chosen: List[Decision] = []
    for folder in sorted(folders, key=lambda one: one["name"]):
        why = ""
        unknown = [node for node in unasked if folder["nodes"] is None or node in folder["nodes"]]
        if folder["name"] in in_use:
            why = "a node is claimed for it"
        elif not campaigns and older_than is None:
            why = "no choice"
        elif campaigns and not any(fnmatchcase(folder["name"], one) for one in campaigns):
            why = "not named"
        elif older_than is not None and folder["days"] < older_than:
            why = f"not older than {older_than:g} days"
        elif unknown:
            why = f"it may run on {folded(unknown)}, not asked (--limit, or unreachable)"
        chosen.append({**folder, "removed": not why, "why": why})
    return chosen


def summary(chosen: Sequence[Decision], check_mode: bool) -> str:
    """Say which campaigns go and what that frees, and why the others stay."""
    groups = [
        ("would be removed" if check_mode else "removed", [one for one in chosen if one["removed"]])
    ]
    kept = sorted((one for one in chosen if not one["removed"]), key=lambda one: one["why"])
    groups += [(f"kept, {why}", list(some)) for why, some in groupby(kept, lambda one: one["why"])]
    return "; ".join(_counted(*group) for group in groups if group[1]) or "no campaigns"


def _counted(what: str, folders: Sequence[Decision]) -> str:
    size = sum(one["bytes"] for one in folders) / 2**20
    names = ", ".join(one["name"] for one in folders)
    return f"{len(folders)} {what}, {size:.1f} MiB ({names})"
