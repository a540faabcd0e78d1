"""The lists under a group's tables in report.md: what failed, was tried again, was disturbed …"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ..layout.plain_text import plain
from ..records.endings import never_ran

__all__ = ["code", "notes", "unquoted"]

Cell = Mapping[str, Any]
Lines = Iterator[str]
_LONGEST = 2000


def code(text: Any) -> str:
    """Return text that stands as it is in Markdown, whatever a log or a path holds."""
    return f"`{unquoted(text)}`"


def unquoted(text: Any) -> str:
    """Return text in one line that neither starts nor ends a quote."""
    return plain(text, _LONGEST).replace("`", "'")


def notes(cells: Sequence[Cell]) -> List[Dict[str, Any]]:
    """Return ``title`` and ``lines`` of every list that has something in it, in Markdown."""
    made: Tuple[Tuple[str, Lines], ...] = (
        ("Invalid", _rules(cells, "invalid")),
        ("Failed", _failed(cells)),
        ("Unavailable", _never_ran(cells, "unavailable")),
        ("Skipped", _never_ran(cells, "skipped")),
        ("Tried again", _tried_again(cells)),
        ("Disturbed", _disturbed(cells)),
        ("Odd, and counted", _rules(cells, "warnings")),
        ("Noticed on the nodes", _noticed(cells)),
        ("Repeats until the median is known", _adaptive(cells)),
    )
    listed = [{"title": title, "lines": list(lines)} for title, lines in made]
    return [one for one in listed if one["lines"]]


def _rules(cells: Sequence[Cell], which: str) -> Lines:
    for cell in cells:
        for one in cell[which]:
            yield f"{cell['topology']}: {unquoted(one['detail'])}"


def _failed(cells: Sequence[Cell]) -> Lines:
    for cell in cells:
        for one in cell["failures"]:
            reason = one["reason"] or "no reason given"
            yield f"{code(one['log'])}: {unquoted(one['ending'])}: {code(reason)}"


def _never_ran(cells: Sequence[Cell], which: str) -> Lines:
    for cell in cells:
        numbers: Dict[str, List[int]] = {}
        for one in cell[which]:
            numbers.setdefault(one["reason"], []).append(one["repeat"])
        for reason, repeats in numbers.items():
            shown = ", ".join(str(number) for number in repeats)
            yield f"{cell['topology']}, repeat {shown}: {code(reason)}"


def _tried_again(cells: Sequence[Cell]) -> Lines:
    for cell in cells:
        for repeat in cell["repeats"]:
            if repeat["earlier"]:
                now = f"{_ordinal(repeat['attempt'])} attempt {unquoted(repeat['ending'])}"
                if never_ran(repeat["ending"]):
                    now = f"not tried again, {repeat['ending']}"
                yield f"{code(repeat['log'])}: {now}; {_earlier(repeat)}"
        for repeat in cell["unfinished"]:
            yield f"{code(repeat['log'])}: to run again; {_earlier(repeat)}"


def _earlier(repeat: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{_ordinal(number)}: {_outcome(attempt)}"
        for number, attempt in enumerate(repeat["earlier"], 1)
    )


def _outcome(attempt: Mapping[str, Any]) -> str:
    if attempt["ending"] != "ok":
        return f"{unquoted(attempt['ending'])}: {code(attempt['reason'] or 'no reason given')}"
    return f"{attempt['throughput']:.2f}, disturbed: {_what(attempt['disturbances'])}"


def _disturbed(cells: Sequence[Cell]) -> Lines:
    for cell in cells:
        for repeat in cell["repeats"]:
            if repeat["disturbances"]:
                yield f"{code(repeat['log'])}: {_what(repeat['disturbances'])}"


def _what(disturbances: Sequence[Mapping[str, str]]) -> str:
    return "; ".join(f"{unquoted(one['node'])}: {code(one['detail'])}" for one in disturbances)


def _noticed(cells: Sequence[Cell]) -> Lines:
    for cell in cells:
        for repeat in cell["repeats"]:
            for warning in repeat["warnings"]:
                yield f"{code(repeat['log'])}: {code(warning)}"


def _adaptive(cells: Sequence[Cell]) -> Lines:
    for cell in cells:
        if cell["adaptive"]:
            more = "" if cell["adaptive"]["enough"] else "; more are needed"
            yield f"{cell['topology']}: {cell['adaptive']['why']}{more}"


def _ordinal(number: int) -> str:
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"
