"""The model of history.html: everything that its template shows, in the order of the page."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Set, Tuple

from ..layout.plain_text import plain
from ..report.page_part import of_section
from ..stats.change_points import LEAST
from .history_text import sections

__all__ = ["history_page", "plots_shown"]

Trend = Mapping[str, Any]
# Tables of more trends are folded away, to keep the plots in sight.
_MOST_OPEN = 4
# A plot has 30 kB. Those without a place on the page lie beside it.
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
    parts = [of_section(one) for one in sections(history)]
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
    said = f"The table has the latest {_MOST_POINTS} campaigns; history.csv has them all."
    return {
        **part,
        "tables": [{**one, "rows": one["rows"][-_MOST_POINTS:]} for one in part["tables"]],
        "paragraphs": [*part["paragraphs"], [{"text": said, "code": False}]],
    }


def _where(history: Mapping[str, Any]) -> str:
    """Say what was measured, and when."""
    trends: Sequence[Trend] = history["trends"]
    days = sorted(point["created"][:10] for trend in trends for point in trend["points"])
    if not days:
        return "No campaign measured a cell."
    names = list(dict.fromkeys(plain(trend["conditions"]["benchmark"], 60) for trend in trends))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    when = f" from {days[0]} to {days[-1]}" if len(set(days)) > 1 else f" on {days[0]}"
    return f"{', '.join(names[:_MOST_NAMED])}{more}: campaigns{when}."


def _verdict(trends: Sequence[Trend]) -> Dict[str, Any]:
    """Tell the changes, the latest first: ``level``, ``verdict`` and ``reasons``."""
    changed = [trend for trend in trends if trend["changes"]]
    if changed:
        found = sorted(
            ((change["created"], _told(trend, change)) for trend, change in _changes(changed)),
            reverse=True,
        )
        said = [line for _, line in found[:_MOST_NAMED]]
        if len(found) > _MOST_NAMED:
            said.append(f"{len(found) - _MOST_NAMED} earlier changes are below.")
        verdict = f"The level of {len(changed)} of {len(trends)} trends changed"
        return {"level": "care", "verdict": verdict, "reasons": said}
    tested = [trend for trend in trends if len(trend["points"]) >= LEAST]
    few = len(trends) - len(tested)
    said = [f"{few} of {len(trends)} trends have fewer than {LEAST} campaigns, too few for a test."]
    if not tested:
        return {"level": "few", "verdict": "Too few campaigns to find a change", "reasons": said}
    verdict = f"No change of level in {len(tested)} trends"
    return {"level": "good", "verdict": verdict, "reasons": said if few else []}


def _changes(trends: Sequence[Trend]) -> List[Tuple[Trend, Mapping[str, Any]]]:
    return [(trend, change) for trend in trends for change in trend["changes"]]


def _told(trend: Trend, change: Mapping[str, Any]) -> str:
    what = ", ".join(dict.fromkeys(one["what"] for one in change["changed"]))
    beside = f"; with it changed {what}" if what else "; nothing that is recorded changed with it"
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
            ("trends", len(trends), f"{gaps} times a cell gave no speed"),
            ("change points", changes, f"in trends of {LEAST} campaigns or more"),
            ("outliers", outliers, "a lone campaign apart from its level"),
        )
    ]
