"""Where published figures stand, under which conditions, and what is wrong with them, in words."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

__all__ = ["row_title", "sources"]

_TOLD = {"framework_version": "framework version", "container": "container"}


def row_title(row_id: str) -> str:
    """Return document and series of a published row: ``dlperf_tensorflow2/fp32_b128``."""
    return row_id.rpartition("/")[0]


def sources(compared: Sequence[Mapping[str, Any]]) -> List[str]:
    """Return a line for each series that was compared with: what, where, and its errata.

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
    runs = {"median": "median", "mean": "mean", "single": "one run"}[source["statistic"]]
    if source["statistic"] != "single":
        runs += f" of {source['repeats']} runs" if source["repeats"] else " of runs"
    # With a commit the address says it all.
    place = source["url"] if source["commit"] else f"{source['url']}, {source['path']}"
    place += f" of {source['date']}" if source["date"] else ""
    told = [
        f"{words} {item['published']} (here {item['measured'] or 'not known'})"
        for item in one["told"]
        for words in [_TOLD.get(item["condition"])]
        if words and item["published"]
    ]
    also = f" It may differ in {', '.join(told)}." if told else ""
    note = f" {source['note']}" if source["note"] else ""
    return f"{what}, {runs}, {place}.{also}{note}"


def _errata(rows: Sequence[Mapping[str, Any]]) -> List[str]:
    """Return each erratum once, with the topologies that it touches unless it touches all."""
    touched: Dict[str, List[str]] = {}
    for row in rows:
        for erratum in row["errata"]:
            printed, correct = erratum.get("printed"), erratum.get("correct")
            said = str(erratum["what"])
            said += f" Printed: {printed}." if printed else ""
            said += f" Correct: {correct}." if correct else ""
            touched.setdefault(f"({erratum['kind']}): {said}", []).append(row["cell"]["topology"])
    return [
        f"Erratum{'' if len(places) == len(rows) else ' of ' + ', '.join(places)} {said}"
        for said, places in touched.items()
    ]
