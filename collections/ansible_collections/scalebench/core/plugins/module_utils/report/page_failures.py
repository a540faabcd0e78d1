"""What gave no speed: each repeat with its reason and the last lines that it printed."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from ..layout.plain_text import plain
from ..layout.rows import cell_groups, labels
from ..layout.sections import table
from ..records import endings
from .page_part import Part, part

__all__ = ["failures_part", "logs_to_quote"]

# More last words than these nobody reads; the table names every log.
_MOST_QUOTED = 40


def logs_to_quote(results: Mapping[str, Any]) -> List[Dict[str, str]]:
    """Return the ``log`` and ``reason`` of the repeats whose last lines are shown, the first 40.

    The reason starts with the node that failed, where one did.
    """
    found = [
        row
        for row in _without_speed(results)
        if row["ending"] != "not run" and not endings.never_ran(row["ending"])
    ]
    return [{"log": row["log"], "reason": row["reason"]} for row in found[:_MOST_QUOTED]]


def failures_part(results: Mapping[str, Any], tails: Mapping[str, Sequence[str]]) -> Optional[Part]:
    """Return the part on repeats without a speed, None where every one has one.

    ``quotes``: for each log of ``tails`` its ``log`` and last ``lines``.

    :param tails: by log, of ``plain_text.last_lines``.
    """
    rows = list(_without_speed(results))
    if not rows:
        return None
    quoted = [
        {"log": plain(row["log"]), "lines": [plain(line) for line in tails[row["log"]]]}
        for row in rows
        if tails.get(row["log"])
    ]
    failed = [
        row for row in rows if row["ending"] != "not run" and not endings.never_ran(row["ending"])
    ]
    said = [
        f"{len(rows)} repeats gave no speed. None of them counts as a zero."
        if len(rows) > 1
        else "1 repeat gave no speed. It does not count as a zero."
    ]
    if len(failed) > len(quoted):
        said.append(
            f"The last lines of {len(quoted)} logs are below; the others hold none, are not here,"
            f" or come after the first {_MOST_QUOTED}."
        )
    return {
        **part("failures", "What gave no speed", said, [table("Repeats without a speed", rows)]),
        "quotes": quoted,
    }


def _without_speed(results: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
    groups, told = cell_groups(results), set()
    for label, cells in zip(labels(groups), groups):
        for cell in cells:
            name = f"{label} {cell['topology']}"
            for kind in endings.groups():
                for one in cell[kind]:
                    told.add(one["log"])
                    yield _row(name, one["repeat"], one)
            for number in cell["not_run"]:
                reason = {"ending": "not run", "reason": "no repeat was recorded", "log": None}
                yield _row(name, number, reason)
    for one in results["failures"]:
        if one["log"] not in told:
            yield _row("search, or a repeat alone", None, one)


def _row(cell: str, repeat: Optional[int], one: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        "cell": cell,
        "repeat": repeat,
        "ending": one["ending"],
        "reason": one["reason"] or "no reason given",
        "log": str(one["log"] or "-"),
    }
