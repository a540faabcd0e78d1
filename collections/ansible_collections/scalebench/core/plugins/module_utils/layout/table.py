"""Aligned text tables."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

__all__ = ["aligned", "shown", "text_table"]


def shown(value: Any, decimals: Optional[int]) -> str:
    """Return a value as tables show it: floats with ``decimals`` (None: all), None as ``-``.

    A float of which they would leave one digit or none has two digits, unless it is below 1e-9: a
    spread or a change as small as that is zero, and what the arithmetic of floats left of it.
    """
    if value is None:
        return "-"
    if isinstance(value, float) and decimals is not None:
        few = decimals and 1e-9 < abs(value) < 10.0 ** (1 - decimals)
        return f"{value:#.2g}" if few else f"{value:.{decimals}f}"
    return str(value)


def text_table(
    rows: Any, columns: Optional[Sequence[str]] = None, decimals: Optional[int] = 2
) -> str:
    """Return an aligned table with ``|`` between the columns, which is Markdown too.

    Columns without text are right-aligned, floats have ``decimals`` places (None: all their
    digits), None is ``-``. Without ``columns``: the keys of the first row, nothing without rows.

    :raises ValueError: not a list of mappings, or a row lacks one of the columns.
    """
    if not isinstance(rows, (list, tuple)) or not all(isinstance(r, Mapping) for r in rows):
        raise ValueError("rows: a list of mappings from column to value is needed")
    names = list(columns) if columns is not None else list(rows[0]) if rows else []
    if not names:
        return ""
    for index, row in enumerate(rows):
        missing = [name for name in names if name not in row]
        if missing:
            raise ValueError(f"row {index} has no column {missing[0]!r}; it has {list(row)}")
    body = [[shown(row[name], decimals) for name in names] for row in rows]
    right = [bool(rows) and not any(isinstance(r[name], str) for r in rows) for name in names]
    return aligned(names, body, right)


def aligned(names: Sequence[str], body: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Return rows of text under a heading, columns aligned, with ``|`` between them.

    :param names: the heading.
    :param right: for each column whether it is aligned to the right.
    """
    lines = [[text.replace("|", "\\|") for text in row] for row in (names, *body)]
    width = [max(3, *(len(line[index]) for line in lines)) for index in range(len(names))]

    def line(cells: Sequence[str]) -> str:
        padded = (c.rjust(width[i]) if right[i] else c.ljust(width[i]) for i, c in enumerate(cells))
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * (w - 1) + (":" if right[i] else "-") for i, w in enumerate(width)]
    return "\n".join([line(lines[0]), line(rule), *(line(cells) for cells in lines[1:])])
