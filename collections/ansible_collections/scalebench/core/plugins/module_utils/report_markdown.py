"""The parts of report.md, ready for its template: titles, tables, sentences."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.scalebench.core.plugins.module_utils.report_rows import (
    cell_groups,
    group_title,
    machines,
    percent,
    remarks,
)
from ansible_collections.scalebench.core.plugins.module_utils.table import text_table

__all__ = ["markdown_parts"]

Cell = Mapping[str, Any]


def _code(text: Any) -> str:
    """Return text that stands as it is in Markdown, whatever a log or a path holds."""
    return "`" + " ".join(str(text).replace("`", "'").split()) + "`"


def _range(interval: Optional[Mapping[str, Any]]) -> str:
    if not interval or interval["low"] is None:
        return "-"
    return f"{interval['low']:.2f} to {interval['high']:.2f}"


def _seeds_row(cell: Cell) -> Dict[str, Any]:
    return {
        "node_num": cell["nodes"],
        "gpu_num": cell["devices"],
        "samples/s": cell["median_speed"],
        "speedup": cell["speedup"],
    }


def _repeats_row(cell: Cell) -> Dict[str, Any]:
    speeds = [
        f"{r['ending']}" if r["throughput"] is None else f"{r['throughput']:.2f}"
        for r in cell["repeats"]
    ] + ["not run"] * len(cell["not_run"])
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
        "title": group_title(cells),
        "speedup": text_table([_seeds_row(cell) for cell in cells]),
        "repeats": text_table([_repeats_row(cell) for cell in cells]),
        "spread": text_table([_spread_row(cell) for cell in cells]),
        "failures": [
            f"{_code(f['log'])}: {f['ending']}: {_code(f['reason'] or 'no reason given')}"
            for cell in cells
            for f in cell["failures"]
        ],
    }


def _method(results: Mapping[str, Any]) -> List[str]:
    """Return the rules in words, that of one repeat first."""
    said = []
    for strategy in results["provenance"]["strategies"]:
        about = strategy["about"] or "a strategy of this name"
        changed = ", ".join(f"{key}={value}" for key, value in strategy["changed"].items())
        here = f"; here with {changed}" if changed else ""
        said.append(f"throughput of one repeat: {_code(strategy['name'])}: {about}{here}")
    rules = results["provenance"]["rules"]
    return said + [f"{name.replace('_', ' ')}: {rule}" for name, rule in rules.items()]


def _machine_row(names: Sequence[str], node: Mapping[str, Any]) -> Dict[str, Any]:
    gpus = node.get("gpus") or []
    kinds = dict.fromkeys((gpu["name"], gpu["driver"]) for gpu in gpus)
    memory = node.get("memory_mib")
    return {
        "nodes": ", ".join(names),
        "host": node.get("hostname") or "-",
        "system": f"{node.get('os') or '-'}, Linux {node.get('kernel') or '-'}",
        "processor": node.get("cpu_model") or "-",
        "cores": node.get("cores"),
        "memory, GiB": None if memory is None else round(memory / 1024, 1),
        "GPUs": f"{len(gpus)} {', '.join(kind for kind, _ in kinds)}" if gpus else "none",
        "driver": ", ".join(dict.fromkeys(driver for _, driver in kinds)) or "-",
        "load before": node.get("load"),
    }


def _machines(results: Mapping[str, Any]) -> str:
    nodes = results["provenance"].get("nodes") or {}
    rows = [_machine_row(names, nodes[names[0]]) for names in machines(results).values()]
    return text_table(rows) if rows else ""


def _origin(results: Mapping[str, Any]) -> List[str]:
    """Return where the figures come from: what was asked for, when, of which code and formats."""
    known = results["provenance"]
    options = [_code(f"{key}={value}") for key, value in (known.get("options") or {}).items()]
    said = [("Options", ", ".join(options) or "none given, the benchmark's defaults")]
    said += [("Planned", known["created"])] if known.get("created") else []
    said += [("Commit", _code(known["commit"]))] if known.get("commit") else []
    said.append(("Formats of the logs", ", ".join(known["readers"]) or "none was read"))
    return [f"{name}: {words}" for name, words in said]


def markdown_parts(results: Mapping[str, Any]) -> Dict[str, Any]:
    """Return title, summary, remarks, groups, method, machines, origin, unmatched, for report.md.

    ``groups``: title, speedup, repeats, spread (tables), failures (lines). ``machines`` is a table,
    empty where the campaign names no node. All is Markdown; what comes out of logs is quoted.
    """
    counts = results["counts"]
    found = (
        f"{counts['ok']} of {counts['planned']} repeats gave a speed, in {counts['cells']} cells"
    )
    rest = [
        f"{counts[key]} {words}"
        for key, words in (("failed", "failed"), ("not_run", "not run yet"))
        if counts[key]
    ]
    return {
        "title": str(results["campaign"]),
        "summary": f"{'; '.join([found, *rest])}.",
        "unit": results["units"]["throughput"],
        "remarks": remarks(results),
        "groups": [_group(cells) for cells in cell_groups(results)],
        "method": _method(results),
        "machines": _machines(results),
        "origin": _origin(results),
        "unmatched": [
            f"{_code(item['path'])}: {_code(item['reason'])}" for item in results["unmatched"]
        ],
    }
