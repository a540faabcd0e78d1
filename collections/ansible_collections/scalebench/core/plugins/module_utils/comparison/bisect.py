"""What bisecting versions found, computed again from the repeats of the campaign, and in words."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from ..layout.sections import Section, section, table
from ..planning.variants import is_treated
from ..records.results import MeasuredCell, Results
from ..running.elapsed import Speeds, round_of
from ..stats.bisection import ERROR, MOST_ROUNDS, Bisection, Step

__all__ = ["bisect_line", "bisect_sections", "bisected"]


def bisected(results: Results) -> Optional[Dict[str, Any]]:
    """Return what bisecting found as results.json holds it, None where it was not asked for.

    :param results: of one campaign, whose options have ``bisect``.
    :returns: ``versions`` in order, ``first_slow`` (null where it is not known), ``candidates``
        (the versions that it can be), ``finished``, ``error`` and ``steps``: ``version``,
        ``against``, ``rounds``, ``ratio`` with ``low`` and ``high``, ``verdict`` (slow, not slow,
        undecided).
    """
    options = results["provenance"].get("options") or {}
    cells = [cell for cell in results["cells"] if is_treated(cell)]
    if not options.get("bisect") or len(cells) < 2:
        return None
    speeds = {str(cell["treatment"]): _speeds(cell) for cell in cells}
    search = Bisection([*speeds], options.get("repeats", MOST_ROUNDS))
    good = speeds[search.versions[0]]
    while search.batch:
        ours = speeds[search.candidate]
        if not {*search.batch} <= {*ours} & {*good}:
            break
        rounds = [round_of(ours[number], good[number]) for number in search.batch]
        search.tell([speeds for speeds in rounds if speeds])
    return {
        "versions": search.versions,
        "first_slow": search.found,
        "candidates": search.left,
        "finished": not search.batch,
        "error": ERROR,
        "steps": [_step(step, search.versions[0]) for step in search.steps],
    }


def _speeds(cell: MeasuredCell) -> Dict[int, Speeds]:
    return {
        repeat["repeat"]: (repeat["throughput"], repeat.get("elapsed_throughput"))
        for repeat in cell["repeats"]
    }


def _step(step: Step, good: str) -> Dict[str, Any]:
    return {**step._asdict(), "against": good, "rounds": len(step.rounds)}


def bisect_sections(results: Results) -> List[Section]:
    """Return the section on bisecting; nothing where it was not asked for."""
    found: Optional[Dict[str, Any]] = results.get("bisection")
    if not found:
        return []
    rows = [
        {
            "version": step["version"],
            "against": step["against"],
            "rounds": step["rounds"],
            "change %": None if step["ratio"] is None else 100 * (step["ratio"] - 1),
            "interval %": _interval(step) or "-",
            "verdict": step["verdict"],
        }
        for step in found["steps"]
    ]
    about = [
        f"{bisect_line(results)}.",
        "Each step compares a version with the first in rounds of both, after 4, 8, 16 … rounds,"
        " until its interval, that of all looks of all steps together at"
        f" {1 - found['error']:.0%} (Bonferroni), lies on one side of half of the change of the"
        " last version.",
    ]
    tables = [table("Steps", rows)] if rows else []
    return [section("bisection", "The first slow version", about, tables)]


def _interval(step: Mapping[str, Any]) -> str:
    if step["low"] is None:
        return ""
    return " to ".join(f"{100 * (step[bound] - 1):+.2f}" for bound in ("low", "high"))


def bisect_line(results: Results) -> str:
    """Return what bisecting found in one sentence without its end.

    :param results: with ``bisection``.
    """
    found = results["bisection"]
    good, last = found["versions"][0], found["versions"][-1]
    rounds = sum(step["rounds"] for step in found["steps"])
    effort = f"{len(found['steps'])} step(s), {rounds} rounds"
    if found["first_slow"]:
        slow = next(one for one in found["steps"] if one["version"] == found["first_slow"])
        return (
            f"bisecting: {found['first_slow']} is the first slow version,"
            f" {100 * (slow['ratio'] - 1):+.2f} % against {good} ({effort}; wrong in at most"
            f" {found['error']:.0%} of bisections)"
        )
    if not found["finished"]:
        return f"bisecting is not finished ({effort}): bench.yml -e campaign= goes on"
    if not found["steps"] or found["steps"][0]["verdict"] != "slow":
        return f"bisecting: it is not shown that {last} is slower than {good} ({effort})"
    among = ", ".join(found["candidates"])
    return f"bisecting: undecided; the first slow version is among {among} ({effort})"
