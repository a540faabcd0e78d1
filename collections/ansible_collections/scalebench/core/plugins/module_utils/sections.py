"""A section of a report as plain data, which both report.md and report.html render."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .table import shown, text_table

__all__ = ["markdown", "section", "table"]

Section = Dict[str, Any]
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~])")


def table(
    caption: str, rows: Sequence[Mapping[str, Any]], columns: Optional[Sequence[str]] = None
) -> Dict[str, Any]:
    """Return a table as data: ``caption``, ``columns`` and ``rows``.

    A column is ``{"name", "numeric"}``; a cell of a row ``{"text", "value"}``: what is shown, and
    what to sort by, None where nothing is known.

    :param rows: from column to value; floats are shown with two decimals.
    :param columns: their order; by default the keys of the first row.
    """
    names = list(columns) if columns is not None else list(rows[0]) if rows else []
    return {
        "caption": caption,
        "columns": [
            {"name": name, "numeric": not any(isinstance(row[name], str) for row in rows)}
            for name in names
        ],
        "rows": [
            [{"text": shown(row[name], 2), "value": row[name]} for name in names] for row in rows
        ],
    }


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
        "title": title,
        "paragraphs": list(paragraphs),
        "tables": list(tables),
        "items": list(items),
    }


def markdown(parts: Section) -> str:
    """Return a section in Markdown, its title as a heading of the second level."""
    blocks: List[str] = [f"## {parts['title']}", *map(_escaped, parts["paragraphs"])]
    for one in parts["tables"]:
        names = [column["name"] for column in one["columns"]]
        rows = [dict(zip(names, (cell["value"] for cell in row))) for row in one["rows"]]
        blocks += [f"{_escaped(one['caption'])}:", text_table(rows, names)]
    if parts["items"]:
        blocks.append("\n".join(f"- {_escaped(item)}" for item in parts["items"]))
    return "\n\n".join(blocks)


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
