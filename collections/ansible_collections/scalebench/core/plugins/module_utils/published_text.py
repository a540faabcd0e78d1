"""What a report says of a campaign against published results, as sections."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Sequence

from .conditions import CPU
from .published_sources import row_title, sources
from .report_rows import cell_groups, group_title
from .result_cells import cell_key
from .result_conditions import STATABLE
from .sections import Section, section, table

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
    why_not = list(_not_compared(found))
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


def _not_compared(found: Found) -> Iterator[str]:
    """Say for each group of cells why no published figure can be held against it."""
    alone = len(found["not_compared"]) == 1 and not found["compared"]
    for group in found["not_compared"]:
        cells = f"these cells ({_named(group['cells'])})" if alone else _named(group["cells"])
        apart, unknown = group["differences"], group["unknown"]
        nearest = f"The nearest, {row_title(group['nearest'])}, has"
        if apart:
            never = [condition_words(one["condition"], one["measured"]) for one in group["never"]]
            why = f": none was measured with {' or '.join(never)}" if never else ""
            yield f"Nothing published is comparable with {cells}{why}. {nearest} {_instead(group)}."
        else:
            yield (
                f"Whether anything published is comparable with {cells} cannot be told:"
                f" {_unknown(unknown)}. {nearest} {_instead(group)}.{_advice(unknown)}"
            )


def _named(cells: Sequence[Found]) -> str:
    groups: Dict[str, List[str]] = {}
    for cell in cells:
        name = f"{cell['benchmark']} {cell['precision']} {cell['variant']}"
        groups.setdefault(name, []).append(cell["topology"])
    return "; ".join(f"{name} {', '.join(places)}" for name, places in groups.items())


def _unknown(unknown: Sequence[Found]) -> str:
    ours = [_plain(one["condition"]) for one in unknown if one["measured"] is None]
    theirs = [_plain(one["condition"]) for one in unknown if one["measured"] is not None]
    said = [f"{', '.join(ours)} of this campaign not known"] if ours else []
    return ", ".join([*said, *([f"{', '.join(theirs)} not published"] if theirs else [])])


def _instead(group: Found) -> str:
    """Return what the nearest row has, where that is or may be something else than the cells."""
    said = []
    for one in (*group["differences"], *group["unknown"]):
        known = one["published"] is not None
        here = f" (here {_value(one['measured'])})" if one["measured"] is not None else ""
        name = one["condition"]
        said.append(
            (condition_words(name, one["published"]) if known else f"no {_plain(name)}") + here
        )
    return ", ".join(said)


def _advice(unknown: Sequence[Found]) -> str:
    names = [one["condition"] for one in unknown if one["measured"] is None]
    missing = [name for name in names if name in STATABLE]
    example = ",".join(f"{name}=…" for name in missing)
    return f" If you know them, state them: -e conditions='{example}'." if missing else ""


def condition_words(name: str, value: Any) -> str:
    """Return a condition for people: ``batch size per device 128``, ``xla off``, ``device CPU``."""
    return "device CPU" if value == CPU else f"{_plain(name)} {_value(value)}"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _value(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
