"""The sections of a report as plain data; rendered as Markdown here, as HTML by the templates."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .plain_text import LONGEST, plain
from .table import aligned, shown

__all__ = [
    "Section",
    "Table",
    "filled",
    "in_markdown",
    "markdown",
    "percent",
    "pieces",
    "quote",
    "section",
    "table",
    "table_text",
    "unquoted",
]

Section = Dict[str, Any]
Table = Dict[str, Any]
# A number sign starts a heading only at the start of a line. An underscore is markup only beside
# something that is no letter: words such as out_of_memory stay readable in the source.
_MARKUP = re.compile(r"([\\`*\[\]<>~]|^#|(?<![^\W_])_|_(?![^\W_]))")
_LONGEST_SENTENCE = 2000
# A cell that lists what it says of hundreds of cells of a campaign.
_LONGEST_LIST = 200_000


def table(
    caption: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Optional[Sequence[str]] = None,
    decimals: Mapping[str, int] = {},
    whole: Sequence[str] = (),
) -> Table:
    """Return a table as data: ``caption``, ``columns`` and ``rows``.

    A column is ``{"name", "numeric"}``; a cell of a row ``{"text", "value"}``: what is shown, and
    what to sort by, None where it is unknown. Text is :func:`plain_text.plain`.

    :param rows: from column to value.
    :param columns: their order; by default the keys of the first row.
    :param decimals: of the floats of a column; 2 where not given.
    :param whole: columns whose text is not cut.
    """
    names = list(columns) if columns is not None else list(rows[0]) if rows else []
    return {
        "caption": plain(caption),
        "columns": [
            {"name": plain(name), "numeric": not any(isinstance(row[name], str) for row in rows)}
            for name in names
        ],
        "rows": [
            [
                _cell(row[name], decimals.get(name, 2), _LONGEST_LIST if name in whole else LONGEST)
                for name in names
            ]
            for row in rows
        ],
    }


def _cell(value: Any, decimals: int, longest: int) -> Dict[str, Any]:
    by = plain(value) if isinstance(value, str) else value
    return {"text": plain(shown(value, decimals), longest), "value": by}


def filled(rows: Sequence[Mapping[str, Any]], always: Sequence[str] = ()) -> List[str]:
    """Return the columns that hold a value in some row, and those named in ``always``."""
    names = list(rows[0]) if rows else list(always)
    empty = (None, "", "-")
    return [name for name in names if name in always or any(r[name] not in empty for r in rows)]


def quote(text: Any) -> str:
    """Return text as a quotation in backticks, for a line of ``notes``."""
    return f"`{unquoted(text)}`"


def unquoted(text: Any) -> str:
    """Return text in one line that neither starts nor ends a quotation."""
    return plain(text, _LONGEST_SENTENCE).replace("`", "'")


def percent(share: float) -> str:
    return f"{100 * share:g} %"


def pieces(line: str) -> List[Dict[str, Any]]:
    """Return a line with quotations in backticks as pieces of ``text``, quoted (``code``) or not.

    A quotation that was cut ends with the line.
    """
    parts = plain(line, _LONGEST_SENTENCE).split("`")
    return [{"text": text, "code": bool(index % 2)} for index, text in enumerate(parts) if text]


def section(
    ident: str,
    title: str,
    paragraphs: Sequence[str] = (),
    tables: Sequence[Table] = (),
    items: Sequence[str] = (),
    notes: Sequence[Mapping[str, Any]] = (),
) -> Section:
    """Return a section, whose text holds neither Markdown nor HTML: renderers escape it.

    :param ident: its anchor, of lower-case letters, digits and dashes.
    :param paragraphs: sentences, before the tables.
    :param tables: of :func:`table`.
    :param items: a list, after the tables.
    :param notes: lists after it, each a ``title`` (may be empty) and ``lines``, which quote logs
        and paths in backticks (:func:`quote`).
    """
    return {
        "ident": ident,
        "title": plain(title),
        "paragraphs": [plain(text, _LONGEST_SENTENCE) for text in paragraphs],
        "tables": list(tables),
        "items": [plain(text, _LONGEST_SENTENCE) for text in items],
        "notes": [
            {"title": plain(note["title"]), "lines": [pieces(line) for line in note["lines"]]}
            for note in notes
        ],
    }


def markdown(part: Section, level: int = 2) -> str:
    """Return a section in Markdown.

    :param level: of its heading.
    """
    blocks: List[str] = [f"{'#' * level} {in_markdown(part['title'])}"]
    blocks += [in_markdown(text) for text in part["paragraphs"]]
    for one in part["tables"]:
        blocks += [f"{in_markdown(one['caption'])}:", table_text(one, as_markdown=True)]
    if part["items"]:
        blocks.append("\n".join(f"- {in_markdown(item)}" for item in part["items"]))
    for note in part["notes"]:
        blocks += [f"{in_markdown(note['title'])}:"] if note["title"] else []
        blocks.append("\n".join(f"- {_with_quotations(line)}" for line in note["lines"]))
    return "\n\n".join(blocks)


def table_text(one: Table, as_markdown: bool = False) -> str:
    """Return a table as aligned text with ``|`` between the columns, without its caption.

    :param as_markdown: escape its text, so that Markdown shows it unchanged.
    """
    show = _escaped if as_markdown else str
    return aligned(
        [show(column["name"]) for column in one["columns"]],
        [[show(cell["text"]) for cell in row] for row in one["rows"]],
        [bool(one["rows"]) and column["numeric"] for column in one["columns"]],
    )


def in_markdown(text: str) -> str:
    """Return a name or a sentence so that Markdown shows it unchanged, in one line."""
    return _escaped(plain(text, _LONGEST_SENTENCE))


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)


def _with_quotations(line: Sequence[Mapping[str, Any]]) -> str:
    # The pieces are plain already; spaces at their ends stay.
    return "".join(
        f"`{piece['text']}`" if piece["code"] else _escaped(piece["text"]) for piece in line
    )
