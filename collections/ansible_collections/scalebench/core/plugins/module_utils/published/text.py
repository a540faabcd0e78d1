"""What a report says of a campaign against published results: tables, reasons, sources."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Sequence

from ..layout.groups import cell_groups, group_title
from ..layout.sections import Section, section, table
from ..records.cells import cell_key
from ..records.results import Results
from .conditions import CPU, STATABLE
from .rows import MEASURES

__all__ = ["condition_words", "sections"]

_STATISTICS = {
    "median": "median",
    "mean": "mean",
    "single": "one run",
    "olympic": "mean without fastest and slowest",
}
_PARTS = ("compared", "not_compared", "other_units")
_TOLD = {"framework_version": "framework version", "container": "container", "strategy": "rule"}


def row_title(row_id: str) -> str:
    """Return document and series of a published row: ``dlperf_tensorflow2/fp32_b128``."""
    return row_id.rpartition("/")[0]


def sources(compared: Sequence[Mapping[str, Any]]) -> List[str]:
    """Return a line for each published series compared with: what, where, and its errata.

    :param compared: of ``against_published.against_published``.
    """
    series: Dict[str, List[Mapping[str, Any]]] = {}
    for one in compared:
        series.setdefault(row_title(one["published"]), []).append(one)
    return [
        " ".join([f"{title}: {_source(rows[0])}", *_errata(rows)]) for title, rows in series.items()
    ]


def _source(one: Mapping[str, Any]) -> str:
    source = one["source"]
    what = " ".join(str(source[key]) for key in ("framework", "framework_version") if source[key])
    runs = _STATISTICS[source["statistic"]]
    if source["statistic"] != "single":
        runs += f" of {source['repeats']} runs" if source["repeats"] else " of runs"
    # With a commit the address is complete.
    place = source["url"] if source["commit"] else f"{source['url']}, {source['path']}"
    place += f" of {source['date']}" if source["date"] else ""
    differing = [
        f"{words} {item['published']} (here {item['measured'] or 'not known'})"
        for item in one["told"]
        for words in [_TOLD.get(item["condition"])]
        if words and item["published"]
    ]
    also = f" It may differ in {', '.join(differing)}." if differing else ""
    note = f" {source['note']}" if source["note"] else ""
    return f"{what}, {runs}, {place}.{also}{note}"


def _errata(rows: Sequence[Mapping[str, Any]]) -> List[str]:
    """Return each erratum once, with the topologies it affects unless it affects all."""
    affected: Dict[str, List[str]] = {}
    for row in rows:
        for erratum in row["errata"]:
            printed, correct = erratum.get("printed"), erratum.get("correct")
            text = str(erratum["what"])
            text += f" Printed: {printed}." if printed else ""
            text += f" Correct: {correct}." if correct else ""
            affected.setdefault(f"({erratum['kind']}): {text}", []).append(row["cell"]["topology"])
    return [
        f"Erratum{'' if len(places) == len(rows) else ' of ' + ', '.join(places)} {text}"
        for text, places in affected.items()
    ]


Comparison = Mapping[str, Any]


def why_not_compared(comparison: Comparison) -> Iterator[str]:
    """Yield for each group of cells why no published figure is comparable with it.

    :param comparison: of ``against_published.against_published``.
    """
    alone = len(comparison["not_compared"]) == 1 and not comparison["compared"]
    for group in comparison["not_compared"]:
        cells = f"these cells ({_named(group['cells'])})" if alone else _named(group["cells"])
        apart, unknown = group["differences"], group["unknown"]
        nearest = f"The nearest, {row_title(group['nearest'])}, has"
        if apart:
            never = [condition_words(one["condition"], one["measured"]) for one in group["never"]]
            why = f": no published figure has {' or '.join(never)}" if never else ""
            yield f"Nothing published is comparable with {cells}{why}. {nearest} {_instead(group)}."
        else:
            yield (
                f"It is unknown whether a published result is comparable with {cells}:"
                f" {_unknown(unknown)}. {nearest} {_instead(group)}.{_advice(unknown)}"
            )


def _in_other_units(comparison: Comparison) -> Iterator[str]:
    """Yield the cells in a unit that no published row has (results of version 0.1: none)."""
    if comparison.get("other_units"):
        yield f"Nothing published is in the unit of {_named(comparison['other_units'])}."


def _named(cells: Sequence[Comparison]) -> str:
    groups: Dict[str, List[str]] = {}
    for cell in cells:
        key = cell_key(cell)
        groups.setdefault(f"{key.label} {key.variant}", []).append(cell["topology"])
    return "; ".join(f"{name} {', '.join(places)}" for name, places in groups.items())


def _unknown(unknown: Sequence[Comparison]) -> str:
    ours = [_plain(one["condition"]) for one in unknown if one["measured"] is None]
    theirs = [_plain(one["condition"]) for one in unknown if one["measured"] is not None]
    parts = [f"{', '.join(ours)} of this campaign unknown"] if ours else []
    parts += [f"{', '.join(theirs)} not published"] if theirs else []
    return ", ".join(parts)


def _instead(group: Comparison) -> str:
    """Return the conditions of the nearest row that differ, or may differ, from the cells'."""
    conditions = []
    for one in (*group["differences"], *group["unknown"]):
        known = one["published"] is not None
        here = f" (here {_value(one['measured'])})" if one["measured"] is not None else ""
        name = one["condition"]
        conditions.append(
            (condition_words(name, one["published"]) if known else f"no {_plain(name)}") + here
        )
    return ", ".join(conditions)


def _advice(unknown: Sequence[Comparison]) -> str:
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


_BEYOND = {True: "yes", False: "no", None: "not known"}


def sections(results: Results) -> List[Section]:
    """Return the section on published results; nothing where none were given.

    :param results: with ``published``, of ``against_published.against_published``.
    """
    comparison = results.get("published")
    if not comparison or not any(comparison.get(name) for name in _PARTS):
        return []
    why_not = [*why_not_compared(comparison), *_in_other_units(comparison)]
    return [
        section(
            "published",
            "Against published results",
            [
                *_compared_words(comparison),
                *_stated(comparison),
                *([] if comparison["compared"] else why_not),
            ],
            list(_tables(results, comparison)),
            [*sources(comparison["compared"]), *(why_not if comparison["compared"] else [])],
        )
    ]


def _compared_words(comparison: Comparison) -> Iterator[str]:
    if not comparison["compared"]:
        return
    cells = {cell_key(one["cell"]) for one in comparison["compared"]}
    level, margin = f"{comparison['level'] * 100:g} %", f"{comparison['margin'] * 100:g} %"
    yield (
        f"{len(cells)} cell(s) have the conditions of a published result, of"
        f" {comparison['rows']} that were searched. The ratio is ours over theirs: above 1 this"
        " campaign is faster."
    )
    yield (
        f"The {level} interval of the ratio contains only the scatter of repeats; a published"
        " figure without its runs is taken to scatter as ours do. It does not contain how machines"
        " of the same kind, sites and days differ, which no source tells. Beyond repeats: more than"
        " that scatter explains, wrong of equals in at most"
        f" {100 - comparison['level'] * 100:.0f} of 100 reports (Holm over all comparisons); a"
        " difference between clusters of the same kind need not follow from it. At a margin of"
        f" {margin} a ratio is equivalent to 1 by two one-sided tests at 5 %, faster or slower if"
        " it is beyond repeats and its whole interval beyond the margin, else undecided."
    )
    without = [
        one["why"]
        for one in comparison["compared"]
        if one["low"] is None and one["ratio"] is not None
    ]
    if without:
        have = "has" if len(without) == 1 else "have"
        yield f"{len(without)} of the comparisons {have} {'; '.join(dict.fromkeys(without))}."


def _stated(comparison: Comparison) -> Iterator[str]:
    if comparison["stated"]:
        stated = ", ".join(
            condition_words(name, value) for name, value in comparison["stated"].items()
        )
        yield f"Stated with conditions=, for what the logs do not say: {stated}."


def _tables(results: Results, comparison: Comparison) -> Iterator[Dict[str, Any]]:
    """Return a table for each group of cells; a cell has a row for each published one."""
    for cells in cell_groups(results):
        keys = [cell_key(cell) for cell in cells]
        own = [one for one in comparison["compared"] if cell_key(one["cell"]) in keys]
        own.sort(key=lambda one: keys.index(cell_key(one["cell"])))
        rates = [_row(one, comparison["margin"]) for one in own if one["ratio"] is not None]
        if rates:
            yield table(group_title(cells), rates)
        beside = [_measure_row(one, measure) for one in own for measure in one["measures"]]
        if beside:
            yield table(f"{group_title(cells)}: beside the throughput", beside)


def _measure_row(one: Comparison, measure: Comparison) -> Dict[str, Any]:
    kind = MEASURES[measure["measure"]]
    return {
        "topology": one["cell"]["topology"],
        "published": row_title(one["published"]) + (" (erratum)" if one["errata"] else ""),
        "figure": kind.title,
        "ours": float(measure["measured"]),
        "theirs": float(measure["theirs"]),
        "compared": measure["why"] or kind.form.format(measure["compared"]),
    }


def _row(one: Comparison, margin: float) -> Dict[str, Any]:
    theirs, has_interval = one["theirs"], one["low"] is not None
    interval = f" ({one['low']:.3f} to {one['high']:.3f})" if has_interval else ""
    return {
        "topology": one["cell"]["topology"],
        "published": row_title(one["published"]) + (" (erratum)" if one["errata"] else ""),
        "ours": one["measured"]["throughput"],
        "theirs": float(theirs["throughput"]),
        "ratio (interval)": f"{one['ratio']:.3f}{interval}",
        "beyond repeats": _BEYOND[one["beyond_repeats"]],
        f"at a margin of {margin * 100:g} %": one["finding"],
        "speedup": one["measured"]["speedup"],
        "their speedup": None if theirs["speedup"] is None else float(theirs["speedup"]),
    }
