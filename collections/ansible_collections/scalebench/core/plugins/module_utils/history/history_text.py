"""The history in words and tables: the terminal's table, sections of history.md, history.csv."""

from __future__ import annotations

import csv
import io
from typing import Any, Dict, List, Mapping

from ..comparison.fingerprint_changes import shown
from ..layout.plain_text import plain
from ..layout.sections import Section, markdown, section, table
from ..layout.table import text_table
from ..stats.change_points import LEAST

__all__ = ["describe", "history_csv", "history_markdown", "history_table", "sections"]

Trend = Mapping[str, Any]
_WIDTH = 100
_FIGURES = ("created", "campaign", "median", "low", "high", "n", "state")


def history_table(history: Mapping[str, Any]) -> str:
    """Return one row a trend, in 100 columns: campaigns, first and latest median, changes."""
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
    """Tell the latest level against the first; without a change point none is told."""
    if trend["changes"]:
        return f"{100 * (trend['levels'][-1]['median'] / trend['levels'][0]['median'] - 1):+.1f} %"
    return "no change" if len(trend["points"]) >= LEAST else "too few"


def sections(history: Mapping[str, Any]) -> List[Section]:
    """Return the summary, then a section of each trend, then what was left out."""
    trends = history["trends"]
    rows = [{**_row(trend), "outliers": len(trend["outliers"])} for trend in trends]
    said = [f"{history['campaigns']} campaigns, {len(trends)} trends."]
    found = [section("trends", "Trends", said, [table("Every trend", rows)] if rows else ())]
    found += [_of_trend(trend, number) for number, trend in enumerate(trends, 1)]
    found.append(section("method", "Method", items=history["method"]))
    if history["left_out"]:
        lines = [f"{one['folder']}: {one['reason']}" for one in history["left_out"]]
        found.append(section("left-out", "Left out", items=lines))
    return found


def _of_trend(trend: Trend, number: int) -> Section:
    known = trend["conditions"]
    recorded = [key for key in known if known[key] is not None]
    said = ", ".join(f"{key.replace('_', ' ')} {shown(known[key])}" for key in recorded)
    rows = [
        {**{key: point[key] for key in _FIGURES}, "mark": _mark(trend, index)}
        for index, point in enumerate(trend["points"])
    ]
    tables = [table(f"Medians over the repeats, in {known['unit']}", rows)] if rows else []
    return section(
        f"trend-{number}", trend["label"], [f"Conditions: {said}."], tables, _lines(trend)
    )


def _mark(trend: Trend, index: int) -> str:
    marks = ["change" for change in trend["changes"] if change["index"] == index]
    return ", ".join([*marks, *(["outlier"] if index in trend["outliers"] else [])]) or "-"


def _lines(trend: Trend) -> List[str]:
    found = []
    for change in trend["changes"]:
        ratio = change["after"] / change["before"] - 1
        found.append(
            f"Change of {ratio:+.1%} with {change['campaign']} ({change['created']}), from"
            f" {change['before']:.2f} to {change['after']:.2f}. {_what_changed(change)}"
        )
    for index in trend["outliers"]:
        point = trend["points"][index]
        found.append(f"Outlier: {point['campaign']} ({point['created']}), {point['median']:.2f}.")
    for gap in trend["gaps"]:
        found.append(f"No speed: {gap['campaign']} ({gap['created']}): {gap['state']}.")
    return found


def _what_changed(change: Mapping[str, Any]) -> str:
    """Tell what the first campaign after a change recorded other than the last before it."""
    said = [
        f"{one['what']} from {one['baseline']} to {one['now']}"
        + (f" on {', '.join(one['nodes'])}" if one["nodes"] else "")
        for one in change["changed"]
    ]
    if not said:
        return "Nothing that is recorded changed with it."
    return f"What changed with it: {'; '.join(said)}."


def describe(trend: Trend) -> str:
    """Return the text alternative of a trend's plot."""
    points, unit = trend["points"], trend["conditions"]["unit"]
    said = [
        f"Median throughput of {trend['label']} over {len(points)} campaigns, in {unit}: first"
        f" {points[0]['median']:.2f}, latest {points[-1]['median']:.2f}."
    ]
    said += [
        f"Change on {change['created'][:10]} from {change['before']:.2f} to {change['after']:.2f}."
        for change in trend["changes"]
    ]
    return " ".join(said)


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
        writer.writeheader()
        writer.writerows({key: _flat(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def _flat(value: Any) -> Any:
    return plain(value) if isinstance(value, str) else value
