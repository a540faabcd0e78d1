"""The model of report.html: everything that its template shows, in the order of the page."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ..layout.plain_text import plain
from ..layout.sections import table
from .extra_sections import extra_sections
from .method import method, origin
from .notes import code
from .page_commands import cell_commands
from .page_failures import failures_part
from .page_groups import group_parts
from .page_headline import headline
from .page_machines import machines_part
from .page_part import Part, of_section, part
from .parts import packing_lines, search_parts
from .telemetry_text import telemetry_rows

__all__ = ["page"]

# Repeats of more groups and commands of more cells are folded away, to keep the rest in sight.
_MOST_OPEN = 4
_MOST_LEFT_OUT = 100


def page(
    results: Mapping[str, Any],
    plan: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    tails: Mapping[str, Sequence[str]],
) -> Dict[str, Any]:
    """Return the page: ``title``, ``head``, parts by place, ``groups``, ``commands``.

    All text is plain (``plain_text.plain``); escaping it is the template's part.

    :param results: of ``results.build_results``, or results.json.
    :param plan: plan.json; empty for a tree of logs.
    :param records: the run records; none for a tree of logs.
    :param tails: by log, the last lines of those that ``page_failures.logs_to_quote`` names.
    """
    groups = group_parts(results)
    commands = cell_commands(results, plan, records)
    return {
        "title": plain(results["campaign"], 120),
        "unit": plain(results["units"]["throughput"], 40),
        "head": headline(results),
        "first": [of_section(one) for one in extra_sections(results)],
        "groups": groups,
        "repeats_open": len(groups) <= _MOST_OPEN,
        "failures": failures_part(results, tails),
        "happened": [*_searches(results), *_packing(results), *_telemetry(results)],
        "machines": machines_part(results),
        "commands": commands,
        "commands_open": len(commands) <= _MOST_OPEN,
        "method": _method(results),
    }


def _searches(results: Mapping[str, Any]) -> List[Part]:
    found = search_parts(results)
    if not found:
        return []
    notes = [{"title": one["title"], "lines": [one["found"], *one["lines"]]} for one in found]
    return [part("searches", "Largest batch sizes", notes=notes)]


def _packing(results: Mapping[str, Any]) -> List[Part]:
    lines = packing_lines(results)
    return [part("packing", "Packing", notes=[{"title": "", "lines": lines}])] if lines else []


def _telemetry(results: Mapping[str, Any]) -> List[Part]:
    captions = ("Processors, memory and links", "GPUs")
    tables = [
        table(caption, rows) for caption, rows in zip(captions, telemetry_rows(results)) if rows
    ]
    said = ["What the nodes measured of themselves while they trained: medians over the repeats."]
    return [part("telemetry", "Telemetry", said, tables)] if tables else []


def _method(results: Mapping[str, Any]) -> List[Part]:
    unmatched = results["unmatched"]
    left_out = [
        f"{code(plain(one['path']))}: {code(plain(one['reason']))}"
        for one in unmatched[:_MOST_LEFT_OUT]
    ]
    if len(unmatched) > _MOST_LEFT_OUT:
        left_out.append(f"{len(unmatched) - _MOST_LEFT_OUT} more are in results.json")
    parts = [
        part("method", "Method", notes=[{"title": "", "lines": method(results)}]),
        part("origin", "Origin", notes=[{"title": "", "lines": origin(results)}]),
    ]
    if left_out:
        listed = [{"title": "", "lines": left_out}]
        parts.append(part("unmatched", "Files left out", notes=listed))
    return parts
