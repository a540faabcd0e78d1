"""The history in words and tables: for the terminal, history.md, history.html and history.csv."""

from __future__ import annotations

import csv
import io
from typing import Any, Dict, List, Mapping, Sequence, Set

from ..comparison.provenance_changes import shown
from ..layout.plain_text import csv_value, plain
from ..layout.sections import Section, markdown, section, table
from ..layout.table import shown as written
from ..layout.table import text_table
from ..records.node_names import folded
from ..stats.change_points import LEAST

__all__ = [
    "describe",
    "history_csv",
    "history_markdown",
    "history_page",
    "history_table",
    "plots_shown",
    "sections",
]

Trend = Mapping[str, Any]
_WIDTH = 100
_FIGURES = ("created", "campaign", "median", "low", "high", "n", "state")


def history_table(history: Mapping[str, Any]) -> str:
    """Return one row per trend, in 100 columns: campaigns, first and latest median, changes."""
    rows = [_row(trend) for trend in history["trends"]]
    if not rows:
        return "no cell was measured"
    others = text_table([{**row, "cell": ""} for row in rows]).partition("\n")[0]
    room = _WIDTH - len(others) + len("cell")
    return text_table([{**row, "cell": _cut(row["cell"], room)} for row in rows])


def _cut(label: str, longest: int) -> str:
    """Cut in the middle: the ends tell the benchmark, and what differs from other trends."""
    if len(label) <= longest:
        return label
    end = longest // 2
    return f"{label[: longest - end - 1]}…{label[-end:]}"


def _row(trend: Trend) -> Dict[str, Any]:
    points, changes = trend["points"], trend["changes"]
    return {
        "cell": trend["label"],
        "campaigns": len(points),
        "first": points[0]["median"] if points else None,
        "latest": points[-1]["median"] if points else None,
        "trend": _direction(trend),
        "changed": changes[-1]["created"][:10] if changes else None,
    }


def _direction(trend: Trend) -> str:
    """Return the change from the first level to the latest, or why there is none."""
    if trend["changes"]:
        return f"{100 * (trend['levels'][-1]['median'] / trend['levels'][0]['median'] - 1):+.1f} %"
    return "no change" if len(trend["points"]) >= LEAST else "too few"


def sections(history: Mapping[str, Any]) -> List[Section]:
    """Return the summary, then a section of each trend, then what was left out."""
    trends = history["trends"]
    rows = [{**_row(trend), "outliers": len(trend["outliers"])} for trend in trends]
    counts = [f"{history['campaigns']} campaigns, {len(trends)} trends."]
    parts = [section("trends", "Trends", counts, [table("All trends", rows)] if rows else ())]
    parts += [_of_trend(trend, number) for number, trend in enumerate(trends, 1)]
    parts.append(section("method", "Method", items=history["method"]))
    if history["left_out"]:
        lines = [f"{one['folder']}: {one['reason']}" for one in history["left_out"]]
        parts.append(section("left-out", "Left out", items=lines))
    return parts


def _of_trend(trend: Trend, number: int) -> Section:
    known = trend["conditions"]
    recorded = [key for key in known if known[key] is not None]
    conditions = ", ".join(f"{key.replace('_', ' ')} {shown(known[key])}" for key in recorded)
    rows = [
        {**{key: point[key] for key in _FIGURES}, "mark": _mark(trend, index)}
        for index, point in enumerate(trend["points"])
    ]
    if any("mfu" in point for point in trend["points"]):
        for row, point in zip(rows, trend["points"]):
            row["MFU %"] = 100 * point["mfu"] if "mfu" in point else None
    figure = "by the time of the steps" if trend["by_time"] else "by the rule"
    caption = f"Medians over the repeats, {figure}, in {known['unit']}"
    tables = [table(caption, rows)] if rows else []
    return section(
        f"trend-{number}", trend["label"], [f"Conditions: {conditions}."], tables, _lines(trend)
    )


def _mark(trend: Trend, index: int) -> str:
    marks = ["change" for change in trend["changes"] if change["index"] == index]
    return ", ".join([*marks, *(["outlier"] if index in trend["outliers"] else [])]) or "-"


def _lines(trend: Trend) -> List[str]:
    lines = []
    for change in trend["changes"]:
        ratio = change["after"] / change["before"] - 1
        lines.append(
            f"Change of {ratio:+.1%} with {change['campaign']} ({change['created']}), from"
            f" {_levels(change)}. {_what_changed(change)}"
        )
    for index in trend["outliers"]:
        point = trend["points"][index]
        median = written(point["median"], 2)
        lines.append(f"Outlier: {point['campaign']} ({point['created']}), {median}.")
    for gap in trend["gaps"]:
        lines.append(f"No result: {gap['campaign']} ({gap['created']}): {gap['state']}.")
    return lines


def _levels(change: Mapping[str, Any]) -> str:
    return f"{written(change['before'], 2)} to {written(change['after'], 2)}"


def _what_changed(change: Mapping[str, Any]) -> str:
    """Return what the first campaign after a change recorded other than the last before it."""
    changed = [
        f"{one['what']} from {one['baseline']} to {one['now']}"
        + (f" on {folded(one['nodes'])}" if one["nodes"] else "")
        for one in change["changed"]
    ]
    if not changed:
        return "No recorded condition changed with it."
    return f"What changed with it: {'; '.join(changed)}."


def describe(trend: Trend) -> str:
    """Return the text alternative of a trend's plot."""
    points, unit = trend["points"], trend["conditions"]["unit"]
    sentences = [
        f"Median throughput of {trend['label']} over {len(points)} campaigns, in {unit}: first"
        f" {written(points[0]['median'], 2)}, latest {written(points[-1]['median'], 2)}."
    ]
    sentences += [
        f"Change on {change['created'][:10]} from {_levels(change)}." for change in trend["changes"]
    ]
    return " ".join(sentences)


def history_markdown(history: Mapping[str, Any], with_plots: bool) -> str:
    """Return history.md; a trend of two campaigns or more has its plot where there are plots."""
    trends = iter(history["trends"])
    blocks = ["# History of the campaigns"]
    for one in sections(history):
        blocks.append(markdown(one))
        if one["ident"].startswith("trend-"):
            trend = next(trends)
            if with_plots and len(trend["points"]) > 1:
                # These would end the text alternative, or be read as markup in it.
                words = describe(trend).translate(str.maketrans("[]<>\\", "()()/"))
                blocks.append(f"![{words}]({trend['plot']})")
    return "\n\n".join(blocks) + "\n"


def history_csv(history: Mapping[str, Any]) -> str:
    """Return one row for each campaign of a trend, gaps included, with its conditions and marks."""
    rows = []
    for trend in history["trends"]:
        starts = {change["index"] for change in trend["changes"]}
        for index, point in enumerate(trend["points"]):
            level = next(one for one in trend["levels"] if one["start"] <= index < one["stop"])
            marks = {
                "level": level["median"],
                "change": int(index in starts),
                "outlier": int(index in trend["outliers"]),
            }
            rows.append({"trend": trend["label"], **trend["conditions"], **point, **marks})
        rows += [{"trend": trend["label"], **trend["conditions"], **gap} for gap in trend["gaps"]]
    text = io.StringIO()
    if rows:
        columns = list(dict.fromkeys(key for row in rows for key in row))
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writerow({key: csv_value(key) for key in columns})
        writer.writerows({key: csv_value(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


# Tables of more trends are folded, to keep the plots in sight.
_MOST_OPEN = 4
# A plot has 30 kB; plots that are not on the page lie beside it.
_MOST_PLOTS = 40
_MOST_POINTS = 100
_MOST_NAMED = 6


def plots_shown(history: Mapping[str, Any]) -> List[str]:
    """Return the file names of the plots on the page, in its order: first of those that changed.

    A trend of one campaign has no plot.

    :param history: of ``history.build_history``.
    """
    drawn = [trend for trend in history["trends"] if len(trend["points"]) > 1]
    chosen = sorted(drawn, key=lambda trend: not trend["changes"])[:_MOST_PLOTS]
    names: Set[str] = {trend["plot"] for trend in chosen}
    return [trend["plot"] for trend in drawn if trend["plot"] in names]


def history_page(history: Mapping[str, Any], plots: Sequence[str]) -> Dict[str, Any]:
    """Return the page: ``title``, ``head``, ``summary``, ``trends``, ``rest``.

    A trend is a part with ``plot``, the index in ``plots`` of its own, None where it has none.
    All text is plain (``plain_text.plain``); escaping it is the template's part.

    :param history: of ``history.build_history``.
    :param plots: of :func:`plots_shown`, or none.
    """
    trends: Sequence[Trend] = history["trends"]
    places = {name: index for index, name in enumerate(plots)}
    parts = sections(history)
    own = [one for one in parts if one["ident"].startswith("trend-")]
    return {
        "title": "History of the campaigns",
        "head": {
            "where": _where(history),
            "trust": _verdict(trends),
            "figures": _figures(history),
        },
        "summary": parts[0],
        "trends": [
            {**_latest(one), "plot": places.get(trend["plot"])} for one, trend in zip(own, trends)
        ],
        "tables_open": len(own) <= _MOST_OPEN,
        "rest": parts[1 + len(own) :],
    }


def _latest(part: Dict[str, Any]) -> Dict[str, Any]:
    """Return a part with the latest rows of its tables, and what was left out."""
    long = [one for one in part["tables"] if len(one["rows"]) > _MOST_POINTS]
    if not long:
        return part
    left_out = f"The table has the latest {_MOST_POINTS} campaigns; history.csv has all."
    return {
        **part,
        "tables": [{**one, "rows": one["rows"][-_MOST_POINTS:]} for one in part["tables"]],
        "paragraphs": [*part["paragraphs"], left_out],
    }


def _where(history: Mapping[str, Any]) -> str:
    """Return what was measured, and when."""
    trends: Sequence[Trend] = history["trends"]
    days = sorted(point["created"][:10] for trend in trends for point in trend["points"])
    if not days:
        return "No campaign measured a cell."
    names = list(dict.fromkeys(plain(trend["conditions"]["benchmark"], 60) for trend in trends))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    when = f" from {days[0]} to {days[-1]}" if len(set(days)) > 1 else f" on {days[0]}"
    return f"{', '.join(names[:_MOST_NAMED])}{more}: campaigns{when}."


def _verdict(trends: Sequence[Trend]) -> Dict[str, Any]:
    """Return ``level``, ``verdict`` and ``reasons``: the changes, the latest first."""
    changed = [trend for trend in trends if trend["changes"]]
    if changed:
        pairs = [(trend, change) for trend in changed for change in trend["changes"]]
        dated = sorted(((change["created"], _sentence(trend, change)) for trend, change in pairs))
        reasons = [line for _, line in reversed(dated[-_MOST_NAMED:])]
        if len(dated) > _MOST_NAMED:
            reasons.append(f"{len(dated) - _MOST_NAMED} earlier changes are below.")
        verdict = f"The level of {len(changed)} of {len(trends)} trends changed"
        return {"level": "care", "verdict": verdict, "reasons": reasons}
    tested = [trend for trend in trends if len(trend["points"]) >= LEAST]
    few = len(trends) - len(tested)
    reasons = [
        f"{few} of {len(trends)} trends have fewer than {LEAST} campaigns, too few for a test."
    ]
    if not tested:
        return {"level": "few", "verdict": "Too few campaigns to find a change", "reasons": reasons}
    verdict = f"No change of level in {len(tested)} trends"
    return {"level": "good", "verdict": verdict, "reasons": reasons}


def _sentence(trend: Trend, change: Mapping[str, Any]) -> str:
    what = ", ".join(dict.fromkeys(one["what"] for one in change["changed"]))
    beside = f"; with it changed {what}" if what else "; no recorded condition changed with it"
    percent = 100 * (change["after"] / change["before"] - 1)
    return plain(
        f"{change['created'][:10]}: {trend['label']} {percent:+.1f} % with"
        f" {change['campaign']}{beside}"
    )


def _figures(history: Mapping[str, Any]) -> List[Dict[str, str]]:
    trends: Sequence[Trend] = history["trends"]
    left_out, gaps = len(history["left_out"]), sum(len(trend["gaps"]) for trend in trends)
    changes = sum(len(trend["changes"]) for trend in trends)
    outliers = sum(len(trend["outliers"]) for trend in trends)
    return [
        {"label": label, "value": str(value), "note": note}
        for label, value, note in (
            ("campaigns", history["campaigns"], f"{left_out} more left out"),
            ("trends", len(trends), f"{gaps} times a cell had no result"),
            ("change points", changes, f"in trends of {LEAST} campaigns or more"),
            ("outliers", outliers, "single campaigns far from their level"),
        )
    ]
