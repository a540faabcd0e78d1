"""A section of a report as plain data, which both report.md and report.html render."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .plain_text import plain
from .table import shown, text_table

__all__ = [
    "Section",
    "in_markdown",
    "markdown",
    "markdown_table",
    "quoting_markdown",
    "section",
    "table",
]

Section = Dict[str, Any]
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~])")
# In a cell text_table escapes the bar, and words as out_of_memory are left readable.
_CELL_MARKUP = re.compile(r"([\\`*\[\]<>~])")
_LONGEST_SENTENCE = 2000


def table(
    caption: str, rows: Sequence[Mapping[str, Any]], columns: Optional[Sequence[str]] = None
) -> Dict[str, Any]:
    """Return a table as data: ``caption``, ``columns`` and ``rows``.

    A column is ``{"name", "numeric"}``; a cell of a row ``{"text", "value"}``: what is shown, and
    what to sort by, None where nothing is known. Text is :func:`plain_text.plain`.

    :param rows: from column to value; floats are shown with two decimals.
    :param columns: their order; by default the keys of the first row.
    """
    names = list(columns) if columns is not None else list(rows[0]) if rows else []
    return {
        "caption": plain(caption),
        "columns": [
            {"name": name, "numeric": not any(isinstance(row[name], str) for row in rows)}
            for name in names
        ],
        "rows": [
            [{"text": plain(shown(row[name], 2)), "value": _value(row[name])} for name in names]
            for row in rows
        ],
    }


def _value(value: Any) -> Any:
    return plain(value) if isinstance(value, str) else value


def section(
    ident: str,
    title: str,
    paragraphs: Sequence[str] = (),
    tables: Sequence[Mapping[str, Any]] = (),
    items: Sequence[str] = (),
) -> Section:
    """Return a section of plain text, which holds neither Markdown nor HTML: renderers escape it.

    :param ident: its anchor, of lower-case letters, digits and dashes.
    :param paragraphs: sentences, before the tables.
    :param tables: of :func:`table`.
    :param items: a list, after the tables.
    """
    return {
        "ident": ident,
        "title": plain(title),
        "paragraphs": [plain(text, _LONGEST_SENTENCE) for text in paragraphs],
        "tables": list(tables),
        "items": [plain(text, _LONGEST_SENTENCE) for text in items],
    }


def markdown(parts: Section) -> str:
    """Return a section in Markdown, its title as a heading of the second level."""
    blocks: List[str] = [f"## {_escaped(parts['title'])}", *map(_escaped, parts["paragraphs"])]
    for one in parts["tables"]:
        names = [column["name"] for column in one["columns"]]
        rows = [dict(zip(names, map(_cell, row))) for row in one["rows"]]
        blocks += [f"{_escaped(one['caption'])}:", text_table(rows, names)]
    if parts["items"]:
        blocks.append("\n".join(f"- {_escaped(item)}" for item in parts["items"]))
    return "\n\n".join(blocks)


def in_markdown(text: str) -> str:
    """Return a name or a sentence so that Markdown shows it as it is, in one line.

    Words as out_of_memory stay readable, in Markdown that nobody renders too.
    """
    return _CELL_MARKUP.sub(r"\\\1", plain(text, _LONGEST_SENTENCE))


def quoting_markdown(line: str) -> str:
    """Return a line that has quotes in backticks so that Markdown shows the rest of it as it is."""
    pieces = plain(line, _LONGEST_SENTENCE).split("`")
    if len(pieces) % 2 == 0:
        # It was cut within a quote.
        pieces.append("")
    return "`".join(
        piece if index % 2 else _CELL_MARKUP.sub(r"\\\1", piece)
        for index, piece in enumerate(pieces)
    )


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as ``table.text_table`` does, with their text as it is."""
    return text_table(
        [
            {
                name: in_markdown(value) if isinstance(value, str) else value
                for name, value in row.items()
            }
            for row in rows
        ]
    )


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)


def _cell(cell: Mapping[str, Any]) -> Any:
    value = cell["value"]
    return in_markdown(value) if isinstance(value, str) else value
