"""What a report says of a campaign against published results, as sections."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping

from ..layout.rows import cell_groups, group_title
from ..layout.sections import Section, section, table
from ..records.cells import cell_key
from .reasons import condition_words, why_not_compared
from .sources import row_title, sources

__all__ = ["sections"]

Found = Mapping[str, Any]
_NOISE = {True: "yes", False: "no", None: "not known"}


def sections(results: Mapping[str, Any]) -> List[Section]:
    """Return the section on published results; nothing where they were not asked for.

    :param results: with ``published``, of ``against_published.against_published``.
    """
    found = results.get("published")
    if not found or not (found["compared"] or found["not_compared"]):
        return []
    why_not = list(why_not_compared(found))
    return [
        section(
            "published",
            "Against published results",
            [*_compared_words(found), *_stated(found), *([] if found["compared"] else why_not)],
            list(_tables(results, found)),
            [*sources(found["compared"]), *(why_not if found["compared"] else [])],
        )
    ]


def _compared_words(found: Found) -> Iterator[str]:
    if not found["compared"]:
        return
    cells = {cell_key(one["cell"]) for one in found["compared"]}
    level, margin = f"{found['level'] * 100:g} %", f"{found['margin'] * 100:g} %"
    yield (
        f"{len(cells)} cell(s) have the conditions of a published result; {found['rows']} were"
        " looked through. The ratio is ours over theirs: above 1 this campaign is faster."
    )
    yield (
        f"Beyond noise: the {level} interval of the ratio leaves 1 out, as of 100 ratios of equals"
        f" about {100 - found['level'] * 100:.0f} do. It knows only how much"
        " repeats differ from one another, and a published figure whose runs are not known is taken"
        " to scatter as ours do; two machines of the same kind may differ by more. At a margin of"
        f" {margin} a ratio is equivalent to 1 when its whole interval lies within, faster or"
        " slower when it lies beyond, else undecided."
    )
    without = [one["why"] for one in found["compared"] if one["low"] is None]
    if without:
        have = "has" if len(without) == 1 else "have"
        yield f"{len(without)} of the comparisons {have} {'; '.join(dict.fromkeys(without))}."


def _stated(found: Found) -> Iterator[str]:
    if found["stated"]:
        said = ", ".join(condition_words(name, value) for name, value in found["stated"].items())
        yield f"Stated with conditions=, not read from the logs: {said}."


def _tables(results: Mapping[str, Any], found: Found) -> Iterator[Dict[str, Any]]:
    """Return a table for each group of cells; a cell has a row for each published one."""
    for cells in cell_groups(results):
        keys = [cell_key(cell) for cell in cells]
        own = [one for one in found["compared"] if cell_key(one["cell"]) in keys]
        own.sort(key=lambda one: keys.index(cell_key(one["cell"])))
        if own:
            yield table(group_title(cells), [_row(one, found["margin"]) for one in own])


def _row(one: Found, margin: float) -> Dict[str, Any]:
    theirs, has_interval = one["theirs"], one["low"] is not None
    interval = f" ({one['low']:.3f} to {one['high']:.3f})" if has_interval else ""
    return {
        "topology": one["cell"]["topology"],
        "published": row_title(one["published"]) + (" (erratum)" if one["errata"] else ""),
        "ours": one["measured"]["throughput"],
        "theirs": float(theirs["throughput"]),
        "ratio (interval)": f"{one['ratio']:.3f}{interval}",
        "beyond noise": _NOISE[one["beyond_noise"]],
        f"at a margin of {margin * 100:g} %": one["finding"],
        "speedup": one["measured"]["speedup"],
        "their speedup": None if theirs["speedup"] is None else float(theirs["speedup"]),
    }
