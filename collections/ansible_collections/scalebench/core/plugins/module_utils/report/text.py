"""Plain texts of a report: the terminal's table, the originals' output, results.csv."""

from __future__ import annotations

import csv
import io
import textwrap
from pprint import pformat
from typing import Any, Dict, List, Mapping

from ansible_collections.scalebench.core.plugins.module_utils.comparison.comparison_text import (
    comparison_line,
)
from ansible_collections.scalebench.core.plugins.module_utils.comparison.gate_text import (
    broken_rules,
    gate_line,
)
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.module_utils.layout.rows import (
    cell_groups,
    failures,
    group_title,
    percent,
)
from ansible_collections.scalebench.core.plugins.module_utils.layout.table import text_table
from ansible_collections.scalebench.core.plugins.module_utils.report.remarks import remarks
from ansible_collections.scalebench.core.plugins.module_utils.results.results import only_facts

__all__ = ["csv_text", "originals_output", "terminal_table"]

WIDTH = 100
MOST_FAILURES = 5
_LONGEST_SENTENCE = 1000
_CSV = (
    "benchmark model precision variant batch_size_per_device topology node_num gpu_num unit"
    " average_speed median_speed speedup efficiency minimum maximum cv interval_low interval_high"
    " wall_clock_throughput oversubscribed state repeats_planned repeats_ok repeats_failed"
    " repeats_unavailable repeats_skipped repeats_disturbed repeats_retried invalid"
)


def _row(cell: Mapping[str, Any], with_note: bool) -> Dict[str, Any]:
    done = cell["spread"]["n"] if cell["spread"] else 0
    row: Dict[str, Any] = {
        "node_num": cell["nodes"],
        "gpu_num": cell["devices"],
        "samples/s": cell["median_speed"],
        "speedup": "invalid" if cell["invalid"] else cell["speedup"],
        "efficiency %": percent(cell["efficiency"]),
        "cv %": percent(cell["spread"]["cv"]) if cell["spread"] else None,
        "repeats": f"{done} of {cell['repeats_planned']}",
    }
    return {**row, "note": "oversubscribed" if cell["oversubscribed"] else ""} if with_note else row


def terminal_table(results: Mapping[str, Any]) -> str:
    """Return the speed-up table of every group, remarks, comparison, gate and failures.

    It is for a terminal of 100 columns; no escape sequence of a log or a name reaches it.
    """
    wrap = textwrap.TextWrapper(WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    blocks = []
    for cells in cell_groups(results):
        with_note = any(cell["oversubscribed"] for cell in cells)
        table = text_table([_row(cell, with_note) for cell in cells])
        blocks.append(f"{wrap.fill(plain(group_title(cells)))}\n{table}")
    if not blocks:
        blocks.append("no cell was measured")
    failed = failures(results)
    lines = remarks(results) + _verdicts(results) + failed[:MOST_FAILURES]
    said = [wrap.fill(plain(line, _LONGEST_SENTENCE)) for line in lines]
    if len(failed) > MOST_FAILURES:
        said.append(f"{len(failed) - MOST_FAILURES} repeats more failed; the report names them")
    return "\n\n".join(blocks + (["\n".join(said)] if said else []))


def _verdicts(results: Mapping[str, Any]) -> List[str]:
    """Return what the campaign was compared with and held against, if it was."""
    said = [comparison_line(results)] if results.get("comparison") else []
    said += [gate_line(results), *broken_rules(results)] if results.get("gate") else []
    return said


def originals_output(results: Mapping[str, Any], log_dir: str, saved: str) -> str:
    """Return what the originals' extract scripts print.

    For each log its path and the speeds so far, then the facts, then where they are saved. A log
    that gave no speed, which stopped the originals, is named with the reason. ``saved``: the path
    of the JSON.
    """
    lines: List[str] = []
    for cell in results["cells"]:
        running: Dict[int, float] = {}
        for repeat in cell["repeats"]:
            path = plain(f"{log_dir.rstrip('/')}/{repeat['log']}", _LONGEST_SENTENCE)
            if repeat["throughput"] is None:
                lines.append(f"{path} {repeat['ending']}: {plain(repeat['reason'])}")
            else:
                running[repeat["repeat"]] = repeat["throughput"]
                lines.append(f"{path} {running}")
    lines += [
        plain(f"{item['path']} left out: {item['reason']}", _LONGEST_SENTENCE)
        for item in results["unmatched"]
    ]
    lines += pformat(only_facts(results)).split("\n")
    return "\n".join([*lines, f"Saving result to {saved}"])


def _csv_row(cell: Mapping[str, Any]) -> Dict[str, Any]:
    interval, spread = cell["interval"] or {}, cell["spread"] or {}
    row = {
        **cell,
        **spread,
        "node_num": cell["nodes"],
        "gpu_num": cell["devices"],
        "interval_low": interval.get("low"),
        "interval_high": interval.get("high"),
        "repeats_ok": spread.get("n", 0),
        "repeats_failed": len(cell["failures"]),
        "repeats_unavailable": len(cell["unavailable"]),
        "repeats_skipped": len(cell["skipped"]),
        "repeats_disturbed": sum(bool(repeat["disturbances"]) for repeat in cell["repeats"]),
        "repeats_retried": sum(bool(repeat["earlier"]) for repeat in cell["repeats"]),
        "invalid": "; ".join(one["detail"] for one in cell["invalid"]),
    }
    for repeat in cell["repeats"]:
        row[f"repeat_{repeat['repeat']}"] = repeat["throughput"]
    return row


def csv_text(results: Mapping[str, Any]) -> str:
    """Return one row a cell; the columns ``repeat_<i>`` at the end hold the speed of each repeat.

    Empty is a value that there is not; a spreadsheet would take a zero for a measurement.
    """
    indexes = {repeat["repeat"] for cell in results["cells"] for repeat in cell["repeats"]}
    columns = [*_CSV.split(" "), *(f"repeat_{index}" for index in sorted(indexes))]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(_csv_row(cell) for cell in results["cells"])
    return text.getvalue()
