"""The parts of report.md, ready for its template: titles, tables, sentences."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from .report_notes import code, notes
from .report_parts import packing_lines, search_parts
from .report_remarks import remarks
from .report_rows import cell_groups, group_title, machines, percent
from .table import text_table
from .telemetry_text import telemetry_tables

__all__ = ["markdown_parts"]

Cell = Mapping[str, Any]
_CHECKS = (
    ("invalid_repeat", "checks that a repeat must pass, or it is invalid"),
    ("invalid_cell", "check that a speed-up must pass, or it is invalid"),
    ("warning", "checks that only warn"),
)


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
        "title": group_title(cells),
        "speedup": text_table([_seeds_row(cell) for cell in cells]),
        "repeats": text_table([_repeats_row(cell) for cell in cells]),
        "spread": text_table([_spread_row(cell) for cell in cells]),
        "notes": notes(cells),
    }


def _method(results: Mapping[str, Any]) -> List[str]:
    """Return the rules in words, that of one repeat first."""
    said = []
    for strategy in results["provenance"]["strategies"]:
        about = strategy["about"] or "a strategy of this name"
        changed = ", ".join(f"{key}={value}" for key, value in strategy["changed"].items())
        here = f"; here with {changed}" if changed else ""
        said.append(f"throughput of one repeat: {code(strategy['name'])}: {about}{here}")
    rules = results["provenance"]["rules"]
    said += [f"{name.replace('_', ' ')}: {rule}" for name, rule in rules.items()]
    checks = results["provenance"]["checks"]
    said += [f"{says}: {' '.join(checks[what].values())}" for what, says in _CHECKS if checks[what]]
    wanted = (results["provenance"].get("options") or {}).get("half_width")
    if wanted:
        said.append(
            f"number of repeats: until half the 95 % interval of the median, between two order"
            f" statistics, is at most {wanted:.2%} of it; whatever the speeds are"
        )
    return said


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


def _controller(controller: Mapping[str, Any]) -> str:
    """Return the code and the programs that ran it: commit, ansible-core, Python."""
    commit = controller.get("commit")
    said = [f"commit {code(commit)}"] if commit else ["no commit is known"]
    said += ["with changes that are not in it"] if controller.get("dirty") else []
    said += [
        f"{name} {controller[key]}"
        for key, name in (("ansible_core", "ansible-core"), ("python", "Python"))
        if controller.get(key)
    ]
    return ", ".join(said)


def _origin(results: Mapping[str, Any]) -> List[str]:
    """Return where the figures come from: what was asked for, when, of which code and formats."""
    known = results["provenance"]
    options = [code(f"{key}={value}") for key, value in (known.get("options") or {}).items()]
    said = [("Options", ", ".join(options) or "none given, the benchmark's defaults")]
    said += [("Planned", known["created"])] if known.get("created") else []
    said += [("Made by", _controller(known["controller"]))] if known.get("controller") else []
    said += [("Checksum of the plan", code(known["sha256"]))] if known.get("sha256") else []
    said.append(("Formats of the logs", ", ".join(known["readers"]) or "none was read"))
    return [f"{name}: {words}" for name, words in said]


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
        "title": str(results["campaign"]),
        "summary": f"{'; '.join([found, *rest])}.",
        "unit": results["units"]["throughput"],
        "remarks": remarks(results),
        "groups": [_group(cells) for cells in cell_groups(results)],
        "searches": search_parts(results),
        "packing": packing_lines(results),
        "telemetry": telemetry_tables(results),
        "method": _method(results),
        "machines": _machines(results),
        "origin": _origin(results),
        "unmatched": [
            f"{code(item['path'])}: {code(item['reason'])}" for item in results["unmatched"]
        ],
    }
