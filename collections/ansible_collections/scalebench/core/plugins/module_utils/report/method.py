"""How the figures of report.md came about: rules and checks, machines, origin."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ..layout.rows import machines
from ..layout.sections import markdown_table
from .notes import code, unquoted

__all__ = ["machine_rows", "machine_table", "method", "origin"]

_CHECKS = (
    ("invalid_repeat", "checks that a repeat must pass, or it is invalid"),
    ("invalid_cell", "check that a speed-up must pass, or it is invalid"),
    ("warning", "checks that only warn"),
)


def method(results: Mapping[str, Any]) -> List[str]:
    """Return the rules in words, that of one repeat first."""
    said = []
    for strategy in results["provenance"]["strategies"]:
        about = strategy["about"] or "a strategy of this name"
        changed = unquoted(", ".join(f"{k}={value}" for k, value in strategy["changed"].items()))
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


def machine_table(results: Mapping[str, Any]) -> str:
    """Return a row for each machine with its nodes; empty where the campaign names no node."""
    rows = machine_rows(results)
    return markdown_table(rows) if rows else ""


def machine_rows(results: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """Return a row for each machine with its nodes."""
    nodes = results["provenance"].get("nodes") or {}
    return [_machine_row(names, nodes[names[0]]) for names in machines(results).values()]


def _controller(controller: Mapping[str, Any]) -> str:
    """Return the code and the programs that ran it: commit, ansible-core, Python."""
    commit = controller.get("commit")
    said = [f"commit {code(commit)}"] if commit else ["no commit is known"]
    said += ["with changes that are not in it"] if controller.get("dirty") else []
    said += [
        f"{name} {unquoted(controller[key])}"
        for key, name in (("ansible_core", "ansible-core"), ("python", "Python"))
        if controller.get(key)
    ]
    return ", ".join(said)


def origin(results: Mapping[str, Any]) -> List[str]:
    """Return where the figures come from: what was asked for, when, of which code and formats."""
    known = results["provenance"]
    options = [code(f"{key}={value}") for key, value in (known.get("options") or {}).items()]
    said = [("Options", ", ".join(options) or "none given, the benchmark's defaults")]
    said += [("Planned", unquoted(known["created"]))] if known.get("created") else []
    said += [("Made by", _controller(known["controller"]))] if known.get("controller") else []
    said += [("Checksum of the plan", code(known["sha256"]))] if known.get("sha256") else []
    said.append(("Formats of the logs", ", ".join(known["readers"]) or "none was read"))
    return [f"{name}: {words}" for name, words in said]
