"""The verdict of an acceptance in words: a section of the report and lines for the terminal."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from ..layout.plain_text import plain
from ..layout.sections import Section, section, table, table_text
from ..records.results import Results
from .judge import FAIL, PASS, UNDECIDED
from .promises import line_text

__all__ = [
    "acceptance_line",
    "acceptance_lines",
    "acceptance_sections",
    "acceptance_text",
    "differences",
]

_ABOUT = (
    "A line passes where the promised value is shown to be reached, and fails where it is shown to"
    " be missed, by the 95 % interval of the median of the repeats (of a drift, the 99 % interval"
    " of its slope); else it is undecided. The interval holds for the time of this campaign."
)
# Differences that are named.
_MOST = 20
# What options of a report add, files that an archive leaves out, and what is compared apart.
_NOT_COMPARED = ("acceptance", "comparison", "gate", "published", "schema", "unmatched")


def acceptance_sections(results: Results) -> List[Section]:
    """Return the section; nothing where nothing was promised."""
    found = results.get("acceptance")
    if not found:
        return []
    decimals = {"measured": 4, "from": 4, "to": 4}
    tables = [table("Lines", _rows(found), decimals=decimals, whole=("detail",))]
    return [section("acceptance", "Acceptance", [f"{acceptance_line(found)}.", _ABOUT], tables)]


def acceptance_text(results: Results) -> str:
    """Return the table of the lines and the verdict for the terminal."""
    found = results["acceptance"]
    lines = table("", _rows(found), decimals={"measured": 4, "from": 4, "to": 4})
    return f"{table_text(lines)}\n\n{acceptance_line(found)}"


def _rows(found: Mapping[str, Any]) -> List[Dict[str, Any]]:
    return [
        {
            "verdict": row["verdict"],
            "line": row["line"],
            "cell": row["of"],
            "measured": row["measured"],
            "from": row["low"],
            "to": row["high"],
            "detail": row["detail"],
        }
        for row in found["lines"]
    ]


def acceptance_line(found: Mapping[str, Any]) -> str:
    """Return the verdict of an acceptance in one sentence."""
    words = [row["verdict"] for row in found["lines"]]
    counts = ", ".join(f"{words.count(word)} {word}" for word in (PASS, FAIL, UNDECIDED))
    return f"Acceptance {plain(found['file'])}: {found['verdict']} ({counts})"


def acceptance_lines(promises: Mapping[str, Any]) -> List[str]:
    """Return what is promised, a line each."""
    return [line_text(line) for line in promises["lines"]]


def differences(recorded: Mapping[str, Any], results: Results) -> List[str]:
    """Return what results.json of an archive says and its logs do not give.

    :param recorded: results.json as it was archived.
    :param results: computed from the logs.
    """
    pairs = [(_verdicts(recorded), _verdicts(results)), (_figures(recorded), _figures(results))]
    sentences = [
        plain(f"{name}: results.json has {before.get(name)}, the logs give {now.get(name)}")
        for before, now in pairs
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    more = len(sentences) - _MOST
    return [*sentences[:_MOST], *([f"{more} more"] if more > 0 else [])]


def _figures(side: Mapping[str, Any]) -> Dict[str, Any]:
    """Return every value of results by its path, less what not only the campaign decides."""
    own = {key: value for key, value in side.items() if key not in _NOT_COMPARED}
    counts = {key: value for key, value in side.get("counts", {}).items() if key != "unmatched"}
    # As the file has it: lists for tuples, texts for the keys of mappings.
    found = json.loads(json.dumps({**own, "counts": counts}))
    return dict(_leaves(found, ""))


def _leaves(value: Any, path: str) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = [(_name(index, item), item) for index, item in enumerate(value)]
    else:
        yield path, value
        return
    for name, item in parts:
        yield from _leaves(item, f"{path} {name}".strip())


def _name(index: int, item: Any) -> str:
    log = item.get("log") if isinstance(item, dict) else None
    return log if isinstance(log, str) else str(index + 1)


def _verdicts(side: Mapping[str, Any]) -> Dict[str, Any]:
    found = side.get("acceptance") or {"lines": [], "verdict": None}
    rows = {f"{row['line']} {row['of']}".strip(): row["verdict"] for row in found["lines"]}
    return {**rows, "all lines": found["verdict"]}
