"""The parts of report.md, ready for its template: titles, tables, sentences."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence

from ..layout.rows import cell_groups, group_title, percent
from ..layout.sections import in_markdown, markdown_table, quoting_markdown
from .method import machine_table, method, origin
from .notes import code, notes
from .parts import packing_lines, search_parts
from .remarks import remarks
from .telemetry_text import telemetry_tables

__all__ = ["markdown_parts"]

Cell = Mapping[str, Any]


def _range(interval: Optional[Mapping[str, Any]]) -> str:
    if not interval or interval["low"] is None:
        return "-"
    return f"{interval['low']:.2f} to {interval['high']:.2f}"


def _seeds_row(cell: Cell) -> Dict[str, Any]:
    return {
        "node_num": cell["nodes"],
        "gpu_num": cell["devices"],
        "samples/s": cell["median_speed"],
        "speedup": "invalid" if cell["invalid"] else cell["speedup"],
    }


def _speed(repeat: Mapping[str, Any]) -> str:
    if repeat["throughput"] is None:
        return str(repeat["ending"])
    return f"{repeat['throughput']:.2f}" + (" (disturbed)" if repeat["disturbances"] else "")


def _repeats_row(cell: Cell) -> Dict[str, Any]:
    speeds = [_speed(repeat) for repeat in cell["repeats"]] + ["not run"] * len(cell["not_run"])
    return {
        "topology": cell["topology"],
        "each repeat": ", ".join(speeds) or "-",
        "average": cell["average_speed"],
        "median": cell["median_speed"],
        "wall clock": cell["wall_clock_throughput"],
    }


def _spread_row(cell: Cell) -> Dict[str, Any]:
    spread = cell["spread"] or {}
    errors = [(r.get("within_run") or {}).get("relative_error") for r in cell["repeats"]]
    return {
        "topology": cell["topology"],
        "n": spread.get("n", 0),
        "min": spread.get("minimum"),
        "max": spread.get("maximum"),
        "cv %": percent(spread.get("cv")),
        "median, 95 % interval": _range(cell["interval"]),
        "speedup, 95 % interval": _range(cell["speedup_interval"]),
        "efficiency %": percent(cell["efficiency"]),
        "within a run, ± %": percent(max((e for e in errors if e is not None), default=None)),
        "oversubscribed": {True: "yes", False: "no"}.get(cell["oversubscribed"], "-"),
    }


def _group(cells: Sequence[Cell]) -> Dict[str, Any]:
    return {
        "title": in_markdown(group_title(cells)),
        "speedup": markdown_table([_seeds_row(cell) for cell in cells]),
        "repeats": markdown_table([_repeats_row(cell) for cell in cells]),
        "spread": markdown_table([_spread_row(cell) for cell in cells]),
        "notes": [
            {**note, "lines": [quoting_markdown(line) for line in note["lines"]]}
            for note in notes(cells)
        ],
    }


def _search(found: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        "title": in_markdown(found["title"]),
        "found": quoting_markdown(found["found"]),
        "lines": [quoting_markdown(line) for line in found["lines"]],
    }


def markdown_parts(results: Mapping[str, Any]) -> Dict[str, Any]:
    """Return title, summary and the sections of report.md.

    ``groups``: title, speedup, repeats, spread (tables), ``notes`` (lists with titles). Sections
    that the campaign has nothing for are empty: ``searches``, ``packing``, ``telemetry``,
    ``machines``, ``unmatched``. All is Markdown; what comes out of logs is quoted.
    """
    counts = results["counts"]
    found = (
        f"{counts['ok']} of {counts['planned']} repeats gave a speed, in {counts['cells']} cells"
    )
    rest = [
        f"{counts[key]} {words}"
        for key, words in (
            *(("failed", "failed"), ("unavailable", "could not run here")),
            *(("skipped", "skipped"), ("not_run", "not run yet")),
        )
        if counts[key]
    ]
    return {
        "title": in_markdown(str(results["campaign"])),
        "summary": f"{'; '.join([found, *rest])}.",
        "unit": in_markdown(results["units"]["throughput"]),
        "remarks": [in_markdown(remark) for remark in remarks(results)],
        "groups": [_group(cells) for cells in cell_groups(results)],
        "searches": [_search(one) for one in search_parts(results)],
        "packing": [quoting_markdown(line) for line in packing_lines(results)],
        "telemetry": telemetry_tables(results),
        "method": [quoting_markdown(line) for line in method(results)],
        "machines": machine_table(results),
        "origin": [quoting_markdown(line) for line in origin(results)],
        "unmatched": [
            f"{code(item['path'])}: {code(item['reason'])}" for item in results["unmatched"]
        ],
    }
