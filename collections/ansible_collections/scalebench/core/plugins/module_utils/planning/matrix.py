"""Expand benchmarks and options into cells, as far as the nodes can seat them."""

from __future__ import annotations

import itertools
from typing import Any, Dict, List, Mapping, Sequence, Tuple, cast

from ..records.cells import cell_path, log_place
from ..records.factors import FACTORS, MAX, STRONG, Factor, factor_values, is_strong
from ..records.node_names import folded
from ..records.plans import Cell, Nodes
from ..topology import format_topology, parse_topology
from .model_file import model_name, model_of_cell
from .options import OPTIONS, as_arguments
from .recipes import (
    ALL,
    TO_TARGET,
    chosen_benchmarks,
    chosen_recipe,
    factors_of,
    framework_set,
    recipe_choices,
    recipe_of,
    usual_recipe,
)
from .seating import can_seat

__all__ = ["METHOD", "blocks", "expand"]

# The method of the reference efforts, 20 warm-up and 100 measured iterations, where neither the
# options nor the benchmark's defaults for the device say otherwise.
METHOD = {"warmup": 20, "iterations": 100, "repeats": 5}
# Of a training to a target: at most so many epochs (as in the reference effort), to no target.
_TO_TARGET = {"epochs": 120, "target_accuracy": None}
Values = Dict[str, List[Any]]
Choices = Mapping[str, Sequence[Any]]


def expand(
    benchmarks: Mapping[str, Mapping[str, Any]], options: Mapping[str, Any], nodes: Nodes
) -> List[Cell]:
    """Return the cells of the matrix, in the order of the benchmarks, smaller topologies first.

    :param benchmarks: checked definitions by name (``benchmark_file.check_benchmark``).
    :param options: what ``options.parse_options`` returned; what is absent comes from the
        benchmark's defaults for the device found.
    :param nodes: per node, in seating order, ``devices`` (how many) and ``device`` (cpu or gpu).
    :raises ValueError: an option with a value that no benchmark knows or the nodes cannot seat,
        with the choices.
    """
    device = "gpu" if all(node["device"] == "gpu" for node in nodes.values()) else "cpu"
    cells: List[Cell] = []
    for name in chosen_benchmarks(benchmarks, options):
        _, recipe = chosen_recipe(benchmarks[name], options.get("recipe"))
        if device in recipe["defaults"] or options.get("benchmark") != ALL:
            cells += _expand_one(benchmarks[name], options, nodes, device)
    if not cells:
        raise ValueError("no cell of the matrix matches " + as_arguments(options))
    return cells


def _expand_one(
    benchmark: Mapping[str, Any], options: Mapping[str, Any], nodes: Nodes, device: str
) -> List[Cell]:
    recipe_name, recipe = chosen_recipe(benchmark, options.get("recipe"))
    if device not in recipe["defaults"]:
        raise ValueError(
            f"benchmark {benchmark['benchmark']}, recipe {recipe_name} has no defaults for"
            f" {device}, which the nodes are: choose another benchmark or recipe"
        )
    factors = factors_of(benchmark)
    if {*options} - {*OPTIONS, *(factor.name for factor in factors)}:
        # A factor that only other benchmarks have selects these.
        return []
    if "no_speedup" in benchmark:
        options = _without_batch(options, recipe)
    defaults = recipe["defaults"][device]
    method = {key: options.get(key, defaults.get(key, METHOD[key])) for key in METHOD}
    cells: Dict[str, Cell] = {}
    for values in blocks(defaults, recipe_choices(recipe, factors), options, factors):
        seated = _topologies(options, values.pop("topology"), nodes)
        _check_scaling(values, options, seated)
        for combination in itertools.product(*values.values()):
            for count, per_node in seated:
                chosen = _sized(dict(zip(values, combination)), count * per_node)
                cell: Dict[str, Any] = {
                    "benchmark": benchmark["benchmark"],
                    "recipe": recipe_name,
                    "framework": recipe["framework"],
                    "model": model_name(benchmark),
                    **{factor.name: chosen[factor.name] for factor in FACTORS},
                    "topology": format_topology(count, per_node),
                    "nodes": count,
                    "devices_per_node": per_node,
                    "device": device,
                    "node_names": list(nodes)[:count],
                    **method,
                }
                own = {factor.name: chosen[factor.name] for factor in factors[len(FACTORS) :]}
                if own:
                    cell["own_factors"] = own
                cell.update(model_of_cell(benchmark, own))
                if cell["mode"] == TO_TARGET:
                    cell.update(_to_target(options, defaults))
                _name(cell, benchmark, defaults)
                _add(cells, cast(Cell, cell))
    return list(cells.values())


def _without_batch(options: Mapping[str, Any], recipe: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the options of a benchmark without speed-ups, which runs beside others.

    It has no mode of scaling, and no batch unless its program is told one: it would measure the
    same once for each.
    """
    of_batch = {"scaling", "global_batch_size"}
    if "{batch_size" not in str(recipe):
        of_batch.add("batch_size_per_device")
    return {name: value for name, value in options.items() if name not in of_batch}


def _check_scaling(
    values: Values, options: Mapping[str, Any], seated: Sequence[Tuple[int, int]]
) -> None:
    """Refuse batch sizes that the modes of scaling asked for do not take, or no topology divides.

    :param values: of a block of the matrix.
    :param seated: nodes and devices per node of the topologies that run.
    """
    sizes, modes = values["global_batch_size"], values["scaling"]
    if STRONG not in modes:
        if "global_batch_size" in options:
            raise ValueError(
                f"{as_arguments({'global_batch_size': sizes})}: weak scaling has a fixed batch per"
                " device; add -e scaling=strong, or weak,strong for both"
            )
        return
    if None in sizes:
        raise ValueError("-e scaling=strong: give the batch of all devices, -e global_batch_size=")
    if modes == [STRONG] and "batch_size_per_device" in options:
        raise ValueError(
            "-e batch_size_per_device: with scaling=strong it follows from global_batch_size and"
            " the topology; leave it out, or add -e scaling=weak,strong for both"
        )
    for size in sizes:
        if seated and all(size % (count * per_node) for count, per_node in seated):
            counts = ", ".join(str(count * per_node) for count, per_node in seated)
            raise ValueError(
                f"-e global_batch_size={size}: it divides over none of the topologies, which have"
                f" {counts} device(s)"
            )


def _sized(chosen: Dict[str, Any], devices: int) -> Dict[str, Any]:
    """Return the factors with the batch sizes of a topology of so many devices.

    In strong scaling a device has its share of the global batch; one that does not divide, whose
    cell cannot run, is rounded up.
    """
    if not is_strong(chosen):
        return {**chosen, "global_batch_size": None}
    return {**chosen, "batch_size_per_device": -(-chosen["global_batch_size"] // devices)}


def _add(cells: Dict[str, Cell], cell: Cell) -> None:
    """Add a cell by its path; two blocks of a matrix may have the same one.

    :raises ValueError: another one has its path.
    """
    path = cell_path(cell)
    ours, theirs = factor_values(cell), factor_values(cells.setdefault(path, cell))
    differing = [name for name in ours if ours[name] != theirs[name]]
    if differing:
        both = [", ".join(f"{name}={side[name]}" for name in differing) for side in (theirs, ours)]
        raise ValueError(
            f"{path}: the logs of {both[0]} and of {both[1]} would lie in the same place: give the"
            " factors tokens, or values, that tell them apart"
        )


def _to_target(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the method of a training to a target, whose number of iterations is not known."""
    wanted = {key: options.get(key, defaults.get(key, _TO_TARGET[key])) for key in _TO_TARGET}
    return {**wanted, "iterations": None}


def _name(cell: Dict[str, Any], benchmark: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Add the package set that the cell needs, and where its logs lie."""
    recipe, factors = recipe_of(benchmark, cell), factors_of(benchmark)
    cell["framework_set"] = framework_set(recipe)
    first = {**defaults, **defaults.get("matrix", [{}])[0]}
    if cell["batch_size_per_device"] == MAX:
        cell["search_from"] = first["batch_size_per_device"][0]
    cell["variant"] = _variant(cell, factors, first, recipe_choices(recipe, factors))
    if cell["recipe"] != usual_recipe(benchmark):
        cell["variant"] += f"-{cell['recipe']}"
    cell.update(log_place(cell))


def _variant(
    cell: Mapping[str, Any],
    factors: Sequence[Factor],
    first: Mapping[str, Any],
    choices: Choices,
) -> str:
    """Return the path part that keeps variants apart, as ``bz128-xla-dali-real-64px-v1.15.2``.

    :param first: the first block of the matrix, whose values need no mention.
    """
    values = factor_values(cell)
    sizes = ("batch_size_per_device", "global_batch_size")
    parts = []
    for factor in factors:
        plain = _usual(factor, first, choices)[0] if factor.plain is None else factor.plain
        # One of the two is the same for all topologies, and is always named.
        named = values[factor.name] != plain
        if factor.name in sizes:
            named = factor.name == sizes[is_strong(cell)]
        if named:
            parts.append(factor.token.format(values[factor.name]))
    return "-".join(part for part in parts if part)


def blocks(
    defaults: Mapping[str, Any],
    choices: Choices,
    options: Mapping[str, Any],
    factors: Sequence[Factor] = FACTORS,
) -> List[Values]:
    """Return the parts of a matrix; each runs all combinations of its values.

    An option selects among the values of the blocks if these have all requested values; else
    the requested values replace those of every block, as far as the recipe allows them.

    :param defaults: of one device of a recipe; ``matrix`` overrides the others.
    :param choices: what may be asked for, by factor; a factor without an entry takes any value.
    :param options: what ``options.parse_options`` returned.
    :returns: per block the values of each factor, and ``topology``.
    """
    plain = [{**defaults, **block} for block in defaults.get("matrix", [{}])]
    made: List[Values] = [
        {
            **{factor.name: _usual(factor, block, choices) for factor in factors},
            "topology": list(block["topology"]),
        }
        for block in plain
    ]
    for factor in factors:
        if factor.name in options:
            _restrict(made, factor.name, options[factor.name], choices)
    return made


def _usual(factor: Factor, block: Mapping[str, Any], choices: Choices) -> List[Any]:
    known = choices.get(factor.name, [factor.plain])
    return list(block.get(factor.name) or (known if factor.every else known[:1]))


def _restrict(made: List[Values], factor: str, asked: Sequence[Any], choices: Choices) -> None:
    wanted = [value for value in asked if factor not in choices or value in choices[factor]]
    planned = {value for values in made for value in values[factor]}
    for values in made:
        if planned.issuperset(wanted):
            values[factor] = [value for value in wanted if value in values[factor]]
        else:
            values[factor] = list(wanted)


def _topologies(
    options: Mapping[str, Any], usual: Sequence[str], nodes: Nodes
) -> List[Tuple[int, int]]:
    """Return nodes and devices per node of each topology that runs, in order.

    :param options: one that is asked for must be seated; a usual one is left out instead.
    :param usual: as ``1n*g``, ``*`` standing for all devices of a node.
    :raises ValueError: the nodes cannot seat what is asked for.
    """
    devices = [node["devices"] for node in nodes.values()]
    chosen: List[Tuple[int, int]] = []
    for text in options.get("topology", usual):
        count, per_node = parse_topology(str(text).replace("*", str(min(devices))))
        seated = count <= len(nodes) and can_seat(list(nodes)[:count], per_node, nodes)
        if not seated and "topology" in options:
            raise ValueError(
                f"-e topology={text}: it needs {count} node(s) with {per_node} device(s) each; the"
                f" inventory has {len(devices)} ({folded(nodes)}) with"
                f" {_device_counts(nodes)}. From {format_topology(1, 1)} to"
                f" {format_topology(len(devices), min(devices))} can be seated"
            )
        if seated and (count, per_node) not in chosen:
            chosen.append((count, per_node))
    return sorted(chosen)


def _device_counts(nodes: Nodes) -> str:
    kinds = {(node["devices"], node["device"]) for node in nodes.values()}
    words = {"gpu": "GPU(s)", "cpu": "CPU process(es)"}
    return " or ".join(f"{count} {words[kind]}" for count, kind in sorted(kinds)) + " each"
