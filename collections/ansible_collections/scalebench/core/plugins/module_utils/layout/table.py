"""Aligned text tables, and the reference table: node_num, gpu_num, samples/s, speedup."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.results.scaling import efficiency
from ansible_collections.scalebench.core.plugins.module_utils.topology import (
    parse_topology,
    sort_topologies,
)

__all__ = ["aligned", "shown", "speedup_rows", "speedup_table", "text_table"]

Row = Dict[str, Any]
COLUMNS = ("node_num", "gpu_num", "samples/s", "speedup")


def _cells(facts: Any, model: Optional[str]) -> Mapping[str, Any]:
    """Return {topology: figures} of one model, from {model: {topology: figures}} or from itself."""
    if not isinstance(facts, Mapping):
        raise ValueError(f"facts {facts!r}: a mapping as scaling_facts returns it is needed")
    named = all(isinstance(v, Mapping) and "median_speed" not in v for v in facts.values())
    if not named or not facts:
        return facts
    if model is None and len(facts) == 1:
        return next(iter(facts.values()))
    if model not in facts:
        raise ValueError(f"facts hold the models {sorted(facts)}, not {model!r}: name one of them")
    return facts[model]  # type: ignore[no-any-return]


def speedup_rows(facts: Any, model: Optional[str] = None) -> List[Row]:
    """Return one row per topology, in order, under the column names of the reference table.

    ``facts``: what ``scaling_facts`` returns. A row also has ``efficiency``, a share of ideal
    scaling with 4 decimals. A missing figure is None.

    :raises ValueError: not facts; several models and none named; a key is no topology.
    """
    cells = _cells(facts, model)
    rows: List[Row] = []
    for topology in sort_topologies(cells):
        nodes, devices_per_node = parse_topology(topology)
        figures = cells[topology]
        if not isinstance(figures, Mapping) or "median_speed" not in figures:
            raise ValueError(f"facts of {topology}: no median_speed in {figures!r}")
        share = efficiency(figures.get("speedup"), topology)
        rows.append(
            {
                "node_num": nodes,
                "gpu_num": nodes * devices_per_node,
                "samples/s": figures["median_speed"],
                "speedup": figures.get("speedup"),
                "efficiency": None if share is None else round(share, 4),
            }
        )
    return rows


def shown(value: Any, decimals: Optional[int]) -> str:
    """Return a value as tables show it: floats with so many decimals (None: all), None as ``-``."""
    if value is None:
        return "-"
    if isinstance(value, float) and decimals is not None:
        return f"{value:.{decimals}f}"
    return str(value)


def text_table(
    rows: Any, columns: Optional[Sequence[str]] = None, decimals: Optional[int] = 2
) -> str:
    """Return an aligned table with ``|`` between the columns, which is Markdown too.

    Columns without text stand to the right, floats have so many ``decimals`` (None: all their
    digits), None is ``-``. Without ``columns``: the keys of the first row.

    :raises ValueError: rows are no list of mappings, or a row has not a named column.
    """
    if not isinstance(rows, (list, tuple)) or not all(isinstance(r, Mapping) for r in rows):
        raise ValueError("rows: a list of mappings from column to value is needed")
    names = list(columns) if columns is not None else list(rows[0]) if rows else list(COLUMNS)
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


def speedup_table(facts: Any, model: Optional[str] = None) -> str:
    """Return the reference table of one group of facts: node_num, gpu_num, samples/s, speedup.

    :raises ValueError: see :func:`speedup_rows`.
    """
    return text_table(speedup_rows(facts, model), COLUMNS)
