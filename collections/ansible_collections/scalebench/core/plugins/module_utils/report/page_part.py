"""One part of report.html as its template takes it: sentences of plain and quoted text, tables."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ..layout.plain_text import plain
from ..layout.sections import Section

__all__ = ["Part", "filled", "of_section", "part", "spans"]

Part = Dict[str, Any]
_LONGEST_SENTENCE = 2000


def spans(line: str) -> List[Dict[str, Any]]:
    """Return a line of ``report_notes``, with its quotes in backticks, as pieces of text.

    :returns: ``text``, which is plain, and ``code``: whether it is quoted.
    """
    pieces = plain(line, _LONGEST_SENTENCE).split("`")
    return [{"text": text, "code": bool(index % 2)} for index, text in enumerate(pieces) if text]


def part(
    ident: str,
    title: str,
    paragraphs: Sequence[str] = (),
    tables: Sequence[Mapping[str, Any]] = (),
    notes: Sequence[Mapping[str, Any]] = (),
) -> Part:
    """Return a part of the page.

    :param ident: its anchor.
    :param paragraphs: with quotes in backticks.
    :param tables: of ``sections.table``.
    :param notes: lists, each a ``title`` (may be empty) and ``lines`` with quotes in backticks.
    """
    return {
        "ident": ident,
        "title": plain(title),
        "paragraphs": [spans(text) for text in paragraphs],
        "tables": list(tables),
        "notes": [
            {"title": plain(note["title"]), "lines": [spans(line) for line in note["lines"]]}
            for note in notes
        ],
    }


def of_section(section: Section) -> Part:
    """Return a section, whose text is plain and has no quotes, as a part of the page."""
    made = part(section["ident"], section["title"], tables=section["tables"])
    made["paragraphs"] = [[{"text": text, "code": False}] for text in section["paragraphs"]]
    if section["items"]:
        lines = [[{"text": item, "code": False}] for item in section["items"]]
        made["notes"] = [{"title": "", "lines": lines}]
    return made


def filled(rows: Sequence[Mapping[str, Any]], always: Sequence[str] = ()) -> List[str]:
    """Return the columns of which some row knows something, and those that ``always`` stand."""
    names = list(rows[0]) if rows else list(always)
    empty = (None, "", "-")
    return [name for name in names if name in always or any(r[name] not in empty for r in rows)]
