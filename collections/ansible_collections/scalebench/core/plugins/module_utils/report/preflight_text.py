"""What the preflight said of the nodes before the first repeat, as a section of the report."""

from __future__ import annotations

from typing import Any, List, Mapping

from ..layout.sections import Section, section, table

__all__ = ["sections"]

_COLUMNS = ("verdict", "check", "node", "found", "todo")
_HEADINGS = {"todo": "what to do"}
# A cluster of hundreds of nodes with one thing wrong; preflight.json has them all.
_MOST_ROWS = 100


def sections(results: Mapping[str, Any]) -> List[Section]:
    """Return the section of a campaign that has a preflight.json, none of others."""
    preflight = results.get("preflight")
    if not preflight:
        return []
    rows = [
        {_HEADINGS.get(column, column): row[column] for column in _COLUMNS}
        for row in preflight["rows"]
    ]
    said = [f"{_capital(preflight['summary'])}."]
    if len(rows) > _MOST_ROWS:
        said.append(f"The first {_MOST_ROWS} of {len(rows)}; the others are in preflight.json.")
    tables = [table("What was not well", rows[:_MOST_ROWS])] if rows else []
    return [section("preflight", "Preflight", said, tables)]


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
