"""The verdict of an acceptance in words: a section of the report and lines for the terminal."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from ..layout.sections import Section, section, table, table_text
from ..records.results import Results
from .judge import FAIL, PASS, UNDECIDED
from .promises import line_text

__all__ = ["acceptance_lines", "acceptance_sections", "acceptance_text", "differences"]

_ABOUT = (
    "A line passes where the promised value is shown to be reached, and fails where it is shown to"
    " be missed, by the 95 % interval of the median of the repeats; else it is undecided."
    " The interval holds for the time of this campaign."
)


def acceptance_sections(results: Results) -> List[Section]:
    """Return the section; nothing where nothing was promised."""
    found = results.get("acceptance")
    if not found:
        return []
    tables = [table("Lines", _rows(found), decimals={"measured": 4, "from": 4, "to": 4})]
    return [section("acceptance", "Acceptance", [f"{_verdict(found)}.", _ABOUT], tables)]


def acceptance_text(results: Results) -> str:
    """Return the table of the lines and the verdict for the terminal."""
    found = results["acceptance"]
    lines = table("", _rows(found), decimals={"measured": 4, "from": 4, "to": 4})
    return f"{table_text(lines)}\n\n{_verdict(found)}"


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


def _verdict(found: Mapping[str, Any]) -> str:
    words = [row["verdict"] for row in found["lines"]]
    counts = ", ".join(f"{words.count(word)} {word}" for word in (PASS, FAIL, UNDECIDED))
    return f"Acceptance {found['file']}: {found['verdict']} ({counts})"


def acceptance_lines(promises: Mapping[str, Any]) -> List[str]:
    """Return what is promised, a line each."""
    return [line_text(line) for line in promises["lines"]]


def differences(recorded: Mapping[str, Any], results: Results) -> List[str]:
    """Return what results.json of an archive says and its logs do not give.

    :param recorded: results.json as it was archived.
    :param results: computed from the logs.
    """
    sentences = []
    for what, before, now in (
        ("throughputs", _speeds(recorded), _speeds(results)),
        ("verdicts", _verdicts(recorded), _verdicts(results)),
    ):
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                sentences.append(
                    f"{what}: {name}: results.json has {before.get(name)}, the logs give"
                    f" {now.get(name)}"
                )
    return sentences


def _speeds(side: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        repeat["log"]: (repeat["ending"], repeat["throughput"])
        for cell in side.get("cells", ())
        for repeat in cell["repeats"]
    }


def _verdicts(side: Mapping[str, Any]) -> Dict[str, Any]:
    found = side.get("acceptance") or {"lines": [], "verdict": None}
    rows = {f"{row['line']} {row['of']}".strip(): row["verdict"] for row in found["lines"]}
    return {**rows, "all lines": found["verdict"]}
