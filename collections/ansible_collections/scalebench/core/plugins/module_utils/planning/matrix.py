"""Expand benchmarks and options into cells, as far as the nodes can seat them."""

from __future__ import annotations

import itertools
from typing import Any, Dict, List, Mapping

from ..topology import format_topology
from .chosen import ALL, MODE, TO_TARGET, chosen_benchmarks, chosen_recipe, recipe_choices
from .factor_values import blocks
from .options import MAX, as_arguments
from .recipes import framework_set, recipe_of, usual_recipe, usual_version
from .topologies import topologies

__all__ = ["expand", "variant"]

# The seeds' method: 20 warm-up, 100 measured iterations (design, decision 4).
_METHOD = {"warmup": 20, "iterations": 100, "repeats": 5}
# Of a training to a target: at most so many epochs (the seed's), to no target.
_TO_TARGET = {"epochs": 120, "target_accuracy": None}
# How a variant's path names what is not as usual.
_MENTIONED = {"image_size": "{}px", "framework_version": "v{}", "mode": "{}", "recipe": "{}"}


def expand(
    benchmarks: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Any],
    nodes: Mapping[str, Mapping[str, Any]],
) -> List[Dict[str, Any]]:
    """Return the cells of the matrix, in the order of the benchmarks, smaller topologies first.

    :param benchmarks: checked definitions by name (``benchmark_file.check_benchmark``).
    :param options: what ``options.parse_options`` returned; what is absent comes from the
        benchmark's defaults for the device found.
    :param nodes: per node, in seating order, ``devices`` (how many) and ``device`` (cpu or gpu).
    :raises ValueError: an option with a value that no benchmark knows or the nodes cannot seat,
        with the choices.
    """
    device = "gpu" if all(node["device"] == "gpu" for node in nodes.values()) else "cpu"
    cells: List[Dict[str, Any]] = []
    for name in chosen_benchmarks(benchmarks, options):
        _, recipe = chosen_recipe(benchmarks[name], options.get("recipe"))
        if device in recipe["defaults"] or options.get("benchmark") != ALL:
            cells += _expand_one(benchmarks[name], options, nodes, device)
    if not cells:
        raise ValueError("no cell of the matrix matches " + as_arguments(options))
    return cells


def variant(cell: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    """Return the path part that keeps variants apart, as ``bz128-xla-dali-real-64px-v1.15.2``.

    :param usual: the values that need no mention: ``image_size`` in pixels, ``framework_version``,
        ``mode`` and ``recipe``.
    """
    parts = [
        f"bz{cell['batch_size_per_device']}",
        "xla" if cell["xla"] else "",
        cell["data_backend"] if cell["data_backend"] != "native" else "",
        "real" if cell["data"] == "real" else "",
        *(
            form.format(cell[factor]) if cell[factor] != usual[factor] else ""
            for factor, form in _MENTIONED.items()
        ),
    ]
    return "-".join(part for part in parts if part)


def _expand_one(
    benchmark: Mapping[str, Any],
    options: Mapping[str, Any],
    nodes: Mapping[str, Mapping[str, Any]],
    device: str,
) -> List[Dict[str, Any]]:
    recipe_name, recipe = chosen_recipe(benchmark, options.get("recipe"))
    if device not in recipe["defaults"]:
        raise ValueError(
            f"benchmark {benchmark['benchmark']}, recipe {recipe_name} has no defaults for"
            f" {device}, which the nodes are: choose another benchmark or recipe"
        )
    defaults = recipe["defaults"][device]
    method = {key: options.get(key, defaults.get(key, _METHOD[key])) for key in _METHOD}
    cells: Dict[str, Dict[str, Any]] = {}
    for values in blocks(defaults, recipe_choices(recipe), options):
        seated = topologies(options, values.pop("topology"), nodes)
        for combination in itertools.product(*values.values()):
            for count, per_node in seated:
                cell: Dict[str, Any] = {
                    "benchmark": benchmark["benchmark"],
                    "recipe": recipe_name,
                    "framework": recipe["framework"],
                    "model": benchmark["model"],
                    **dict(zip(values, combination)),
                    "topology": format_topology(count, per_node),
                    "nodes": count,
                    "devices_per_node": per_node,
                    "device": device,
                    "node_names": list(nodes)[:count],
                    **method,
                }
                if cell["mode"] == TO_TARGET:
                    cell.update(_to_target(options, defaults))
                _name(cell, benchmark, defaults)
                cells.setdefault(f"{cell['directory']}/{cell['name']}", cell)
    return list(cells.values())


def _to_target(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the method of a training to a target, whose iterations nobody knows before."""
    wanted = {key: options.get(key, defaults.get(key, _TO_TARGET[key])) for key in _TO_TARGET}
    return {**wanted, "iterations": None}


def _name(cell: Dict[str, Any], benchmark: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Add what the cell's recipe version needs, and where its logs lie."""
    recipe = recipe_of(benchmark, cell)
    cell["framework_set"] = None if "container" in recipe else framework_set(recipe)
    first = {**defaults, **defaults.get("matrix", [{}])[0]}
    if cell["batch_size_per_device"] == MAX:
        cell["search_from"] = first["batch_size_per_device"][0]
    usual = {
        "image_size": first["image_size"][0],
        "framework_version": usual_version(recipe),
        "mode": MODE,
        "recipe": usual_recipe(benchmark),
    }
    cell["variant"] = variant(cell, usual)
    cell["directory"] = f"{cell['benchmark']}/{cell['variant']}/{cell['topology']}"
    cell["name"] = "{model}_b{batch_size_per_device}_{precision}".format(**cell)
