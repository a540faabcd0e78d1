"""Expand benchmarks and options into cells, as far as the nodes can seat them."""

from __future__ import annotations

import itertools
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..topology import format_topology, parse_topology
from .options import MAX, as_arguments
from .seating import can_seat

__all__ = ["expand", "frameworks", "variant"]

# What runs when no benchmark is named; `all` is every one.
DEFAULT_BENCHMARKS = ["pytorch"]

# The seeds' method: 20 warm-up, 100 measured iterations (design, decision 4).
_METHOD = {"warmup": 20, "iterations": 100, "repeats": 5}
_FACTORS = ("precision", "batch_size_per_device", "image_size", "xla", "data", "data_backend")
_CHOSEN = ("precision", "xla", "data", "data_backend")


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
    names = _chosen(benchmarks, options)
    cells: List[Dict[str, Any]] = []
    for name in names:
        cells += _expand_one(benchmarks[name], options, nodes)
    if not cells:
        raise ValueError("no cell of the matrix matches " + as_arguments(options))
    return cells


def variant(cell: Mapping[str, Any], image_size: int) -> str:
    """Return the path part that keeps variants apart: ``bz128[-xla][-dali][-real][-<n>px]``.

    :param image_size: the benchmark's usual size in pixels, which needs no mention.
    """
    name = f"bz{cell['batch_size_per_device']}"
    name += "-xla" if cell["xla"] else ""
    name += f"-{cell['data_backend']}" if cell["data_backend"] != "native" else ""
    name += "-real" if cell["data"] == "real" else ""
    return name + (f"-{cell['image_size']}px" if cell["image_size"] != image_size else "")


def frameworks(
    benchmarks: Mapping[str, Mapping[str, Any]], options: Mapping[str, Any]
) -> List[str]:
    """Return the frameworks that the chosen benchmarks need, each once.

    :raises ValueError: as ``expand``, for all that can be told without knowing the nodes.
    """
    names = _chosen(benchmarks, options)
    recipes = [_recipe(benchmarks[name], options.get("recipe"))[1] for name in names]
    return sorted({recipe["framework"] for recipe in recipes})


def _chosen(benchmarks: Mapping[str, Mapping[str, Any]], options: Mapping[str, Any]) -> List[str]:
    names = options.get("benchmark", DEFAULT_BENCHMARKS)
    if names == ["all"]:
        names = sorted(benchmarks)
    for name in names:
        if name not in benchmarks:
            raise ValueError(_no_choice("benchmark", name, [*sorted(benchmarks), "all"]))
    _check_known(benchmarks, names, options)
    return list(names)


def _expand_one(
    benchmark: Mapping[str, Any],
    options: Mapping[str, Any],
    nodes: Mapping[str, Mapping[str, Any]],
) -> List[Dict[str, Any]]:
    recipe_name, recipe = _recipe(benchmark, options.get("recipe"))
    device = "gpu" if all(node["device"] == "gpu" for node in nodes.values()) else "cpu"
    if device not in recipe["defaults"]:
        raise ValueError(
            f"benchmark {benchmark['benchmark']}, recipe {recipe_name} has no defaults for"
            f" {device}, which the nodes are: choose another benchmark or recipe"
        )
    defaults = recipe["defaults"][device]
    values = {factor: _values(factor, options, defaults, recipe["choices"]) for factor in _FACTORS}
    method = {key: options.get(key, defaults.get(key, _METHOD[key])) for key in _METHOD}
    cells = []
    for combination in itertools.product(*values.values()):
        for count, per_node in _topologies(options, defaults, nodes):
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
            if cell["batch_size_per_device"] == MAX:
                cell["search_from"] = defaults["batch_size_per_device"][0]
            cell["variant"] = variant(cell, defaults["image_size"][0])
            cell["directory"] = f"{cell['benchmark']}/{cell['variant']}/{cell['topology']}"
            cell["name"] = "{model}_b{batch_size_per_device}_{precision}".format(**cell)
            cells.append(cell)
    return cells


def _recipe(benchmark: Mapping[str, Any], asked: Optional[str]) -> Tuple[str, Mapping[str, Any]]:
    recipes = benchmark["recipes"]
    name = asked or ("portable" if "portable" in recipes else sorted(recipes)[0])
    if name not in recipes:
        raise ValueError(_no_choice("recipe", name, sorted(recipes)))
    return name, recipes[name]


def _values(
    factor: str,
    options: Mapping[str, Any],
    defaults: Mapping[str, Any],
    choices: Mapping[str, Sequence[Any]],
) -> List[Any]:
    if factor not in options:
        return list(defaults.get(factor) or choices[factor][:1])
    allowed = choices.get(factor)
    return [value for value in options[factor] if allowed is None or value in allowed]


def _check_known(
    benchmarks: Mapping[str, Mapping[str, Any]], names: Sequence[str], options: Mapping[str, Any]
) -> None:
    """Refuse a value that none of the chosen benchmarks knows; one that some know selects them."""
    for factor in _CHOSEN:
        known: List[Any] = []
        for name in names:
            _, recipe = _recipe(benchmarks[name], options.get("recipe"))
            known += [value for value in recipe["choices"][factor] if value not in known]
        for value in options.get(factor, []):
            if value not in known:
                raise ValueError(_no_choice(factor, value, known))


def _topologies(
    options: Mapping[str, Any],
    defaults: Mapping[str, Any],
    nodes: Mapping[str, Mapping[str, Any]],
) -> List[Tuple[int, int]]:
    devices = [node["devices"] for node in nodes.values()]
    found: List[Tuple[int, int]] = []
    for text in options.get("topology", defaults["topology"]):
        count, per_node = parse_topology(str(text).replace("*", str(min(devices))))
        seated = count <= len(nodes) and can_seat(list(nodes)[:count], per_node, nodes)
        if not seated and "topology" in options:
            raise ValueError(
                f"-e topology={text}: it needs {count} node(s) with {per_node} device(s) each; the"
                f" inventory has {len(devices)} ({', '.join(nodes)}) with"
                f" {_device_counts(nodes)}. From {format_topology(1, 1)} to"
                f" {format_topology(len(devices), min(devices))} can be seated"
            )
        if seated and (count, per_node) not in found:
            found.append((count, per_node))
    return sorted(found)


def _device_counts(nodes: Mapping[str, Mapping[str, Any]]) -> str:
    kinds = {(node["devices"], node["device"]) for node in nodes.values()}
    words = {"gpu": "GPU(s)", "cpu": "CPU process(es)"}
    return " or ".join(f"{count} {words[kind]}" for count, kind in sorted(kinds)) + " each"


def _no_choice(option: str, value: Any, choices: Sequence[Any]) -> str:
    listed = ", ".join(
        str(choice).lower() if isinstance(choice, bool) else str(choice) for choice in choices
    )
    return f"-e {option}={value}: there is no {option} {value!r}; the choices are {listed}"
