"""The plan of a campaign: every repeat with its log, its commands and its expected time."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Sequence, Set

from . import launch, matrix

__all__ = ["build", "differences", "estimate", "missing", "oversubscribed", "repeats"]

SCHEMA = 1
# What makes results of two sessions comparable: the same hardware under the same names.
_HARDWARE = ("hostname", "machine_id", "cpu_model", "cores", "gpus")


def build(
    benchmarks: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Any],
    nodes: Mapping[str, Mapping[str, Any]],
) -> Dict[str, Any]:
    """Return ``{"schema", "options", "cells", "nodes"}``; each cell carries its commands.

    :param benchmarks: checked definitions by name.
    :param options: what ``options.parse_options`` returned.
    :param nodes: per node what ``launch.commands`` needs, ``device``, ``devices`` and
        ``fingerprint``.
    :raises ValueError: the options do not fit benchmarks or nodes.
    """
    cells = matrix.expand(benchmarks, options, nodes)
    for cell in cells:
        recipe = benchmarks[cell["benchmark"]]["recipes"][cell["recipe"]]
        cell["commands"] = launch.commands(cell, recipe, nodes)
        cell["oversubscribed"] = oversubscribed(cell, nodes)
        cell["estimate_seconds"] = recipe.get("estimate", {}).get(cell["topology"])
    return {
        "schema": SCHEMA,
        "options": dict(options),
        "cells": cells,
        "nodes": {name: node["fingerprint"] for name, node in nodes.items()},
    }


def repeats(cells: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    """Return every repeat in running order: the first of each cell, then the second of each, …

    In rounds, a machine that gets warmer or busier spoils all cells alike, and an interrupted
    campaign has something of each. ``log`` is relative to the campaign's folder.
    """
    planned = []
    for index in range(1, max((cell["repeats"] for cell in cells), default=0) + 1):
        for cell in cells:
            if index <= cell["repeats"]:
                name = f"{cell['name']}_{index}"
                log = f"logs/{cell['directory']}/{name}.log"
                planned.append({"cell": dict(cell), "repeat": index, "name": name, "log": log})
    return planned


def missing(
    planned: Iterable[Mapping[str, Any]], done: Mapping[str, str]
) -> List[Mapping[str, Any]]:
    """Return the repeats that are still to run.

    :param done: the ending by log of every repeat that has a run record; only ``ok`` is done.
    """
    return [repeat for repeat in planned if done.get(repeat["log"]) != "ok"]


def oversubscribed(cell: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a machine runs more CPU threads for this cell than it has cores.

    Nodes with the same ``machine_id`` share a machine. On GPUs it is never so.
    """
    if cell["device"] == "gpu":
        return False
    wanted: Dict[str, int] = {}
    cores: Dict[str, int] = {}
    for name in cell["node_names"]:
        fingerprint = nodes[name]["fingerprint"]
        machine = fingerprint["machine_id"] or name
        wanted[machine] = wanted.get(machine, 0) + cell["devices_per_node"] * nodes[name]["threads"]
        cores[machine] = fingerprint["cores"]
    return any(wanted[machine] > cores[machine] for machine in wanted)


def estimate(repeat: Mapping[str, Any], earlier: Mapping[str, Sequence[float]]) -> float:
    """Return the expected seconds of a repeat; 0 where nothing is known.

    :param earlier: seconds of earlier repeats by ``<directory>/<name without repeat>``: their
        median counts; else the benchmark's own estimate.
    """
    cell = repeat["cell"]
    seconds = sorted(earlier.get(f"{cell['directory']}/{cell['name']}", ()))
    if seconds:
        return seconds[len(seconds) // 2]
    return float(cell["estimate_seconds"] or 0)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> List[str]:
    """Return what keeps a campaign with plan ``old`` from going on with plan ``new``, in words."""
    found = []
    names: Set[str] = {*old["nodes"], *new["nodes"]}
    for name in sorted(names):
        before, now = old["nodes"].get(name), new["nodes"].get(name)
        if before is None or now is None:
            found.append(f"node {name} is only in the {'new' if before is None else 'old'} plan")
            continue
        for key in _HARDWARE:
            if before.get(key) != now.get(key):
                found.append(f"{name}: {key} was {before.get(key)!r}, is {now.get(key)!r}")
    was, wanted = (
        {(cell["directory"], cell["name"]): _essence(cell) for cell in plan["cells"]}
        for plan in (old, new)
    )
    for place in sorted({*was, *wanted}):
        cell = "/".join(place)
        if place not in wanted:
            found.append(f"{cell} was planned and is not asked for now")
        elif place not in was:
            found.append(f"{cell} is asked for now and was not planned")
        else:
            found += [
                f"{cell}: {field} was {was[place].get(field)!r}, is {wanted[place].get(field)!r}"
                for field in sorted({*was[place], *wanted[place]})
                if was[place].get(field) != wanted[place].get(field)
            ]
    return found


def _essence(cell: Mapping[str, Any]) -> Dict[str, Any]:
    return {key: value for key, value in cell.items() if key != "estimate_seconds"}
