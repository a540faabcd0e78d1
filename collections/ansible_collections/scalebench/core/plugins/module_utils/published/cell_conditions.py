"""The conditions of a measured cell: those of cell and nodes, and those that a user states."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ..records.factors import FACTORS, parse_text
from ..results.cells import ok_speeds
from .conditions import FAMILIES, plain_condition
from .rows import CONDITIONS

__all__ = ["STATABLE", "cell_conditions", "check_stated"]

# What neither the path nor the format of a log states reliably.
STATABLE = (
    *("model", "framework", "container", "gpu"),
    *(factor.name for factor in FACTORS if factor.name in CONDITIONS and not factor.needed),
)
_PACKAGES = {"pytorch": "torch", "paddle": "paddlepaddle"}


def check_stated(given: Mapping[str, Any]) -> Dict[str, Any]:
    """Return conditions that a user states for a tree of logs, each in its type.

    :param given: by name; ``-e`` makes every value a text.
    :raises ValueError: no such condition, or a value that it cannot have.
    """
    return {name: _typed(name, value) for name, value in given.items()}


def _typed(name: str, value: Any) -> Any:
    if name not in STATABLE:
        raise ValueError(f"conditions: {name!r} cannot be stated: use one of {', '.join(STATABLE)}")
    kind = CONDITIONS[name]
    parse = next((factor.parse for factor in FACTORS if factor.name == name), parse_text)
    try:
        typed = parse(str(value).strip())
    except ValueError:
        typed = None
    if typed is None or (isinstance(kind, tuple) and typed not in kind):
        choices = " or ".join(kind) if isinstance(kind, tuple) else kind.__name__
        raise ValueError(f"conditions: {name} is {value!r}: {choices} is needed")
    return typed


def cell_conditions(cell: Mapping[str, Any], results: Mapping[str, Any]) -> Dict[str, Any]:
    """Return what ``compare.compare`` needs of a measured cell, None for what is not known.

    A recorded condition takes precedence over a stated one, but for the model: the path of a log
    may call it anything.

    :param results: the cell's; stated conditions stand in its ``provenance.options.conditions``.
    """
    known = results["provenance"]
    stated = (known.get("options") or {}).get("conditions") or {}
    recorded = {**cell, "framework": _framework(cell), **_of_nodes(cell, known.get("nodes") or {})}
    conditions = {
        name: stated[name] if not recorded.get(name) and name in stated else recorded.get(name)
        for name in (*CONDITIONS, "topology", "nodes", "devices_per_node", "device")
    }
    own = {"own_factors": cell["own_factors"]} if cell.get("own_factors") else {}
    return {
        **conditions,
        **own,
        "model": stated.get("model", cell["model"]),
        "throughput": cell["median_speed"],
        "runs": ok_speeds(cell),
    }


def _framework(cell: Mapping[str, Any]) -> Optional[str]:
    """Return the cell's framework, or that of the reader of its logs, which are named after it."""
    if cell.get("framework"):
        return str(cell["framework"])
    readers = {repeat["reader"] for repeat in cell["repeats"] if repeat.get("reader")}
    families = {plain_condition("framework", {"framework": reader}) for reader in readers}
    return families.pop() if len(families) == 1 and families <= set(FAMILIES) else None


def _of_nodes(cell: Mapping[str, Any], nodes: Mapping[str, Any]) -> Dict[str, Any]:
    """Return gpu, framework_version and container of the cell's nodes; several are listed."""
    own = [nodes[name] for name in cell.get("node_names") or () if name in nodes]
    # Older campaigns name the framework instead of its package set.
    chosen = cell.get("framework_set") or cell.get("framework")
    used = [(node.get("frameworks") or {}).get(chosen) or {} for node in own]
    package = _PACKAGES.get(str(cell.get("framework")), str(cell.get("framework")))
    gpus = [gpu["name"] for node in own for gpu in node.get("gpus") or ()]
    return {
        "gpu": _each(gpus) if cell.get("device") != "cpu" else None,
        "framework_version": _each((entry.get("packages") or {}).get(package) for entry in used),
        "container": _each(entry.get("image") for entry in used),
    }


def _each(names: Any) -> Optional[str]:
    return ", ".join(dict.fromkeys(name for name in names if name)) or None
