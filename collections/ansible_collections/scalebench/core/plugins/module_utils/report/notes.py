"""What happened to repeats, in lists: which failed and why, were retried, were disturbed …"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..layout.groups import named_cells
from ..layout.plain_text import plain
from ..layout.sections import Section, quote, section, table, unquoted
from ..layout.table import shown
from ..records import endings
from ..records.endings import never_ran
from ..records.node_names import by_words
from ..records.results import Attempt, Finding, MeasuredCell, Results
from ..records.runs import Disturbance
from ..results.cells import repeats_without_speed

__all__ = ["failures_section", "logs_to_quote", "notes"]

Lines = Iterator[str]
_NOT_RUN = "not_run"
# Nobody reads the last lines of more logs than these; the table names every log.
_MOST_QUOTED = 40


def notes(cells: Sequence[MeasuredCell]) -> List[Dict[str, Any]]:
    """Return ``title`` and ``lines`` of every list that is not empty, logs in backticks.

    Failed repeats are not here: see :func:`failures_section`.
    """
    lists: Tuple[Tuple[str, Callable[[MeasuredCell], Lines]], ...] = (
        ("Invalid", lambda cell: _rules(cell, cell["invalid"])),
        ("Retried", _retried),
        ("Disturbed", _disturbed),
        ("Unexpected, but counted", lambda cell: _rules(cell, cell["warnings"])),
        ("Warnings of the nodes", _node_warnings),
        ("Repeats until the median is known", _adaptive),
    )
    made = [
        {"title": title, "lines": [line for cell in cells for line in lines(cell)]}
        for title, lines in lists
    ]
    return [one for one in made if one["lines"]]


def _rules(cell: MeasuredCell, findings: Sequence[Finding]) -> Lines:
    for rule in findings:
        yield f"{cell['topology']}: {unquoted(rule['detail'])}"


def _retried(cell: MeasuredCell) -> Lines:
    for repeat in cell["repeats"]:
        if repeat["earlier"]:
            now = f"{_ordinal(repeat['attempt'])} attempt {unquoted(repeat['ending'])}"
            if never_ran(repeat["ending"]):
                now = f"not retried, {repeat['ending']}"
            yield f"{quote(repeat['log'])}: {now}; {_earlier(repeat['earlier'])}"
    for unfinished in cell["unfinished"]:
        yield f"{quote(unfinished['log'])}: to be retried; {_earlier(unfinished['earlier'])}"


def _earlier(attempts: Sequence[Attempt]) -> str:
    return "; ".join(
        f"{_ordinal(number)}: {_outcome(attempt)}" for number, attempt in enumerate(attempts, 1)
    )


def _outcome(attempt: Attempt) -> str:
    if attempt["ending"] != "ok":
        return f"{unquoted(attempt['ending'])}: {quote(attempt['reason'])}"
    return f"{shown(attempt['throughput'], 2)}, disturbed: {_causes(attempt['disturbances'])}"


def _disturbed(cell: MeasuredCell) -> Lines:
    for repeat in cell["repeats"]:
        if repeat["disturbances"]:
            yield f"{quote(repeat['log'])}: {_causes(repeat['disturbances'])}"


def _causes(disturbances: Sequence[Disturbance]) -> str:
    said = ((unquoted(one["node"]), quote(one["detail"])) for one in disturbances)
    return "; ".join(by_words(said))


def _node_warnings(cell: MeasuredCell) -> Lines:
    for repeat in cell["repeats"]:
        for warning in repeat["warnings"]:
            yield f"{quote(repeat['log'])}: {quote(warning)}"


def _adaptive(cell: MeasuredCell) -> Lines:
    if cell["adaptive"]:
        more = "" if cell["adaptive"]["enough"] else "; more are needed"
        yield f"{cell['topology']}: {cell['adaptive']['why']}{more}"


def _ordinal(number: int) -> str:
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"


def logs_to_quote(results: Results) -> List[Dict[str, str]]:
    """Return the ``log`` and ``reason`` of the repeats whose last lines are shown, at most 40.

    The reason starts with the node that failed, where one did.
    """
    rows = [row for row in _unsuccessful(results) if _ran(row)]
    return [{"log": row["log"], "reason": row["reason"]} for row in rows[:_MOST_QUOTED]]


def failures_section(results: Results, tails: Mapping[str, Sequence[str]]) -> Optional[Section]:
    """Return the section on repeats without a result, None where every repeat succeeded.

    Beside the keys of a section it has ``quotes``: ``log`` and last ``lines`` of the logs.

    :param tails: by log, of ``plain_text.last_lines``.
    """
    rows = list(_unsuccessful(results))
    if not rows:
        return None
    quotes = [
        {"log": plain(row["log"]), "lines": [plain(line) for line in tails[row["log"]]]}
        for row in rows
        if tails.get(row["log"])
    ]
    sentences = [
        f"{len(rows)} repeats have no result. They are left out, not counted as zero."
        if len(rows) > 1
        else "1 repeat has no result. It is left out, not counted as zero."
    ]
    if sum(map(_ran, rows)) > len(quotes):
        sentences.append(
            f"The last lines of {len(quotes)} logs are below; the other logs are empty, missing, or"
            f" come after the first {_MOST_QUOTED}."
        )
    shown = [{**row, "ending": row["ending"].replace("_", " ")} for row in rows]
    meanings = _meanings(rows)
    made = section(
        "failures",
        "Failed and missing repeats",
        sentences,
        [table("Repeats", shown)],
        notes=[{"title": "What the endings mean", "lines": meanings}] if meanings else [],
    )
    return {**made, "quotes": quotes}


def _meanings(rows: Sequence[Mapping[str, Any]]) -> List[str]:
    """Return what each ending of the rows means and what to do, in the order of the table."""
    present = {row["ending"] for row in rows}
    return [
        f"{ending.name.replace('_', ' ')}: {ending.words}."
        + (f" What to do: {ending.advice}." if ending.advice else "")
        for ending in endings.ENDINGS
        if ending.name in present
    ]


def _unsuccessful(results: Results) -> Iterator[Dict[str, Any]]:
    listed = set()
    for label, cell in named_cells(results):
        name = f"{label} {cell['topology']}"
        for repeat in repeats_without_speed(cell):
            listed.add(repeat["log"])
            yield _row(name, repeat["repeat"], repeat)
        for number in cell["not_run"]:
            missing = {"ending": _NOT_RUN, "reason": "no repeat was recorded", "log": None}
            yield _row(name, number, missing)
    for failure in results["failures"]:
        if failure["log"] not in listed:
            yield _row("search, or a repeat alone", None, failure)


def _row(cell: str, number: Optional[int], failure: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        "cell": cell,
        "repeat": number,
        "ending": failure["ending"],
        "reason": failure["reason"],
        "log": str(failure["log"] or "-"),
    }


def _ran(row: Mapping[str, Any]) -> bool:
    return row["ending"] != _NOT_RUN and not never_ran(row["ending"])
