"""The plan of a campaign: every repeat with its log, its commands and its expected time."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, cast

from ..records.cells import cell_path
from ..records.factors import TREATMENT, factor_values, is_strong
from ..records.node_names import by_words, folded
from ..records.plans import Cell, Nodes, Plan, PlannedRepeat, Reading, check_size
from ..stacks.pci import BEFORE_AMPERE
from ..strategies import parameters_of
from . import launch, matrix, nccl
from .container import container_name
from .plan_changes import changed_files, settings_of
from .recipes import TO_TARGET, matching, recipe_of
from .seating import models_of, oversubscribed
from .variants import check_in_turns, in_turns

__all__ = [
    "NOT_INSTALLABLE",
    "build",
    "check_forks",
    "containers",
    "estimate",
    "expected_identity",
    "planned_repeat",
    "repeats",
    "seated",
    "stated_seconds",
    "timing_key",
    "with_unavailable",
]

SCHEMA = 1
# How the reasons begin that role framework gives where no provisioning makes a package set
# available: the node has no interpreter for it or is another machine, a package is in no index, or
# its stack has none.
NOT_INSTALLABLE = ("needs Python ", "needs a machine ", "no package index has ", "stack ")

# Of the time of a usual repeat, what is the same for any number of iterations: imports and
# connections. PyTorch on two cores takes 6.5 s of 26 s for them.
_START_UP = 0.25

# What the log of a cell must not contradict, where the cell has it, beside factors and ranks.
_EXPECTED = ("epochs", "target_accuracy", "units_per_sample")

# Factors in which cells may differ that run the same command: a batch may be that of both modes of
# scaling, a version another image or package set, and a variant stands beside itself on purpose.
_NOT_TOLD = {"scaling", "global_batch_size", "framework_version", TREATMENT}


def build(
    benchmarks: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Any],
    nodes: Nodes,
    kept: Optional[Plan] = None,
    seed: str = "",
) -> Plan:
    """Return the plan; each cell carries its commands.

    :param benchmarks: checked definitions by name.
    :param options: what ``options.parse_options`` returned.
    :param kept: the plan of a campaign that is continued. What the options leave open of the method
        is as it was planned, whatever a benchmark's defaults are by now.
    :param seed: of the order in which variants take turns; that of ``kept`` stands over it.
    :raises ValueError: the options do not fit benchmarks or nodes.
    """
    nccl.check_names(nodes)
    before = {cell_path(cell): cell for cell in (kept["cells"] if kept else ())}
    cells = [
        _as_planned(cell, before.get(cell_path(cell), cell), options)
        for cell in matrix.expand(benchmarks, options, nodes)
    ]
    check_size(cells)
    _check_data(cells, options, nodes)
    check_in_turns(cells, options)
    for cell in cells:
        recipe = recipe_of(benchmarks[cell["benchmark"]], cell)
        cell["reading"] = _reading(cell, recipe)
        for stated in matching(recipe.get("conditions", []), cell):
            cell["loss_scaling"] = stated["loss_scaling"]
        cell["not_there"] = _impossible(cell, recipe, nodes)
        models = models_of(cell, nodes)
        if len(models) > 1 and not options.get("mixed_gpus"):
            found = ", ".join(f"{model} on {folded(names)}" for model, names in models.items())
            cell["not_there"].append(
                f"it would mix models of GPUs, {found}: choose nodes of one (--limit, -e exclude),"
                " or -e mixed_gpus=true"
            )
        cell["over_ssh"] = launch.LAUNCHERS[recipe["launcher"]].over_ssh
        cell["commands"] = launch.commands(cell, recipe, nodes)
        if recipe.get("container", {}).get("variant"):
            cell["image"] = recipe["container"]["image"]
        expected = nccl.expected_transport(cell, nodes)
        if expected:
            cell["transport"] = expected
        if options.get("bisect"):
            # It decides as it goes which version runs how often.
            cell["repeats"] = 0
        cell["oversubscribed"] = oversubscribed(cell, nodes)
        cell["estimate_seconds"] = stated_seconds(cell, recipe)
    if not kept:
        _check_told(cells)
    made: Plan = {
        "schema": SCHEMA,
        "options": dict(options),
        "cells": cells,
        "nodes": {name: node["fingerprint"] for name, node in nodes.items()},
        "settings": settings_of(nodes),
    }
    workload = _workload(nodes)
    if workload:
        made["workload"] = workload
    variants = {
        name: benchmarks[name]["variants"]
        for name in dict.fromkeys(cell["benchmark"] for cell in cells)
        if "variants" in benchmarks[name]
    }
    if variants:
        made["variants"] = variants
        made["seed"] = kept.get("seed", seed) if kept else seed
    return made


def _check_told(cells: Sequence[Cell]) -> None:
    """Refuse cells that differ in factors of which their program is told nothing.

    :raises ValueError: two cells, and the factors.
    """
    known: Dict[Any, Cell] = {}
    for cell in cells:
        if cell["not_there"]:
            continue
        command = cell["commands"][cell["node_names"][0]]
        told = (*command["argv"], "", *(f"{k}={v}" for k, v in sorted(command["env"].items())))
        of = (cell["benchmark"], cell["recipe"], cell["topology"], cell.get("image"))
        other = known.setdefault((*of, cell["iterations"], told), cell)
        ours, theirs = factor_values(cell), factor_values(other)
        differing = {name for name in ours if ours[name] != theirs[name]}
        if differing and differing.isdisjoint(_NOT_TOLD):
            names = " and ".join(sorted(differing))
            raise ValueError(
                f"{cell_path(other)} and {cell_path(cell)} would run the same command: nothing in"
                f" recipe {cell['recipe']} of {cell['benchmark']} uses {names}. Name it in"
                " arguments, environment or additions, or ask for one value"
            )


def _workload(nodes: Nodes) -> Dict[str, str]:
    """Return the digests of the trainers, which must be the same on all nodes that have them.

    :raises ValueError: the first file that differs, and where.
    """
    having = {name: node["workload"] for name, node in nodes.items() if node.get("workload")}
    first, expected = next(iter(having.items()), ("", {}))
    for name, found in having.items():
        different = changed_files(expected, found)
        if different:
            raise ValueError(
                f"the trainers of {name} are not those of {first}: {'; '.join(different[:3])}. Run"
                " ansible-playbook playbooks/provision.yml --tags workload"
            )
    return dict(expected)


def _impossible(cell: Cell, recipe: Mapping[str, Any], nodes: Nodes) -> List[str]:
    """Return why the software of a recipe cannot run a cell on its nodes."""
    own = [nodes[name] for name in cell["node_names"]]
    given = all(node.get("python_given", False) for node in own)
    entries = matching(recipe.get("unavailable", []), {**cell, "given_python": given})
    reasons = [str(entry["reason"]) for entry in entries]
    devices = cell["nodes"] * cell["devices_per_node"]
    if is_strong(cell) and (cell["global_batch_size"] or 0) % devices:
        reasons.append(
            f"the global batch size {cell['global_batch_size']} does not divide over {devices}"
            " devices"
        )
    found = {name for node in own for name in node.get("architectures", ())}
    supported = recipe.get("gpu_architectures", [*found])
    # Of an interpreter that is given nothing is known; in a container it is the image's.
    judged = cell["device"] == "gpu" and ("container" in recipe or not given)
    if judged and found - {*supported}:
        reasons.append(
            f"its software has code for {', '.join(supported)} GPUs, and the nodes have"
            f" {', '.join(sorted(found))}"
        )
    older = sorted(found & BEFORE_AMPERE)
    if cell["device"] == "gpu" and cell["precision"] in ("tf32", "bf16") and older:
        reasons.append(
            f"GPUs compute in {cell['precision']} since Ampere, and the nodes have"
            f" {', '.join(older)}"
        )
    return reasons


def _reading(cell: Cell, recipe: Mapping[str, Any]) -> Reading:
    """Return how the logs of a cell are read.

    The warm-up and the iterations of the cell are the strategy's, unless the recipe says otherwise.
    """
    rule = recipe.get("strategy", {"name": "mean_after_warmup"})
    known = parameters_of(rule["name"])
    method = {"warmup": cell["warmup"], "iterations": cell["iterations"]}
    counts = {key: method[key] for key in method if key in known}
    return {
        "reader": recipe.get("reader", "auto"),
        "strategy": rule["name"],
        "parameters": {**counts, **rule.get("parameters", {})},
    }


def _check_data(cells: Sequence[Cell], options: Mapping[str, Any], nodes: Nodes) -> None:
    """Refuse missing data where real data was asked for or all cells need it.

    :raises ValueError: what is missing, and what to do.
    """
    lacking = [_without_data(cell, nodes) for cell in cells]
    if any(lacking) and ("data" in options or all(lacking)):
        raise ValueError(f"-e data=real: {next(reason for reason in lacking if reason)}")
    for cell in cells:
        if cell["data"] == "synthetic" and cell["mode"] == TO_TARGET:
            raise ValueError(
                f"-e mode={TO_TARGET}: it needs -e data=real, as noise cannot be learnt"
            )


def _as_planned(cell: Cell, before: Cell, options: Mapping[str, Any]) -> Cell:
    kept = {key: before.get(key) for key in matrix.METHOD if key in before and key not in options}
    return cast(Cell, {**cell, **kept})


def _without_data(cell: Cell, nodes: Nodes) -> str:
    missing = [name for name in cell["node_names"] if not nodes[name].get("data_dir")]
    if cell["data"] != "real" or not missing:
        return ""
    return (
        f"no data set is known on {folded(missing)}: make the small one with"
        " provision.yml -e dataset=small, or give the folder of one with"
        " -e scalebench_data_dir= (docs/data.md)"
    )


def check_forks(cells: Sequence[Cell], nodes: Nodes, packing: str, forks: int) -> None:
    """Check that Ansible starts all nodes of a wave together.

    Ranks wait for each other, so a node that waits for a free fork would block the others for ever.

    :param packing: one of ``options.PACKINGS``; with ``none`` a wave is one repeat, else it may
        hold all repeats, as many as the nodes can take.
    :param forks: how many nodes Ansible works on at the same time.
    :raises ValueError: too few forks; the message names the number to give.
    """
    if packing == "none":
        needed = max((cell["nodes"] for cell in cells), default=0)
    else:
        needed = min(len(nodes), sum(cell["nodes"] * cell["repeats"] for cell in cells))
    if needed > forks:
        raise ValueError(
            f"{needed} nodes train at the same time, and Ansible works on {forks} at most:"
            f" give -f {needed}, or set forks = {needed} in ansible.cfg, above which ANSIBLE_FORKS"
            " stands"
        )


def with_unavailable(cells: Sequence[Cell], nodes: Nodes) -> List[Cell]:
    """Return the cells; one that cannot run here has ``unavailable``, the reason, and ``excused``.

    Excused is what provisioning cannot repair: what the benchmark states that its framework cannot
    do, data that was not asked for, an interpreter that the node does not have, a package that no
    index has.
    """
    checked: List[Cell] = []
    for cell in cells:
        excused = list(cell.get("not_there", ()))
        excused += [reason for reason in (_without_data(cell, nodes),) if reason]
        chosen = cell.get("framework_set") or ""
        unusable = {
            name: nodes[name]["unusable"][chosen]
            for name in cell["node_names"]
            if chosen in nodes[name].get("unusable", {})
        }
        lost = {name: nodes[name]["lost"] for name in cell["node_names"] if nodes[name].get("lost")}
        reasons = excused + by_words([*lost.items(), *unusable.items()])
        beyond = not lost and all(why.startswith(NOT_INSTALLABLE) for why in unusable.values())
        excuse = bool(excused) or beyond
        unavailable: Cell = {**cell, "unavailable": "; ".join(reasons), "excused": excuse}
        checked.append(unavailable if reasons else {**cell})
    return checked


def containers(cells: Sequence[Cell]) -> List[str]:
    """Return the containers that the cells run in, which :func:`with_unavailable` returned."""
    inside = [cell for cell in cells if cell["framework_set"] is None and "unavailable" not in cell]
    return sorted({_container(cell) for cell in inside})


def _container(cell: Cell) -> str:
    variant = cell["treatment"] or "" if "image" in cell else ""
    return container_name(cell["benchmark"], cell["recipe"], variant)


def repeats(cells: Sequence[Cell], seed: str = "") -> List[PlannedRepeat]:
    """Return every repeat in running order: the first of each cell, then the second of each, …

    In rounds, a machine that gets warmer or busier affects all cells alike, and an interrupted
    campaign has some repeats of each. ``log`` is the leading node's and the measurement, ``logs``
    are all nodes'; they are relative to the campaign's folder.

    :param seed: of the plan, for the order of variants in each round.
    """
    planned = []
    for index in range(1, max((cell["repeats"] for cell in cells), default=0) + 1):
        for cell in in_turns(cells, seed, index):
            if index <= cell["repeats"]:
                planned.append(planned_repeat(cell, index, f"{cell['name']}_{index}"))
    return planned


def planned_repeat(cell: Cell, index: int, name: str) -> PlannedRepeat:
    """Return a repeat of a cell on its nodes, whose log has this name."""
    repeat: PlannedRepeat = {
        "cell": cast(Cell, {key: value for key, value in cell.items() if key != "commands"}),
        "repeat": index,
        "name": name,
        "log": f"logs/{cell['directory']}/{name}.log",
        "logs": {},
        "expect": expected_identity(cell),
    }
    return seated(repeat, cell["node_names"])


def seated(
    repeat: PlannedRepeat,
    names: Sequence[str],
    devices: Optional[Mapping[str, Sequence[int]]] = None,
) -> PlannedRepeat:
    """Return the repeat on the nodes ``names``, the first of which leads.

    :param devices: by node the places of its devices among those of the node; by default as
        ``launch.commands`` assigns them.
    """
    base = repeat["log"][: -len(".log")]
    logs = {
        node: f"{base}.{node}.out" if rank else repeat["log"] for rank, node in enumerate(names)
    }
    cell: Cell = {**repeat["cell"], "node_names": list(names)}
    if devices:
        cell["node_devices"] = {name: list(devices[name]) for name in names}
    return {**repeat, "cell": cell, "logs": logs}


def expected_identity(cell: Mapping[str, Any]) -> Dict[str, Any]:
    """Return what the log of a cell must state of itself to be that cell's."""
    factors = factor_values(cell, lambda factor: factor.in_log)
    return {
        **{key: cell[key] for key in _EXPECTED if key in cell},
        **{name: value for name, value in factors.items() if value is not None},
        "world_size": cell["nodes"] * cell["devices_per_node"],
    }


def estimate(repeat: PlannedRepeat, earlier: Mapping[str, Sequence[float]]) -> float:
    """Return the expected seconds of a repeat; 0 where nothing is known.

    :param earlier: seconds of earlier repeats by ``timing_key``, whose median is taken; without
        any the benchmark's own estimate.
    """
    cell = repeat["cell"]
    seconds = sorted(earlier.get(timing_key(cell), ()))
    if seconds:
        return seconds[len(seconds) // 2]
    return float(cell.get("estimate_seconds") or 0)


def stated_seconds(cell: Cell, recipe: Mapping[str, Any]) -> Optional[float]:
    """Return the seconds of a repeat by the benchmark file; None where it says nothing.

    It has those of a repeat of the default length. What is not start-up grows with the length.

    :param recipe: what ``recipes.recipe_of`` returned for the cell.
    """
    seconds = recipe.get("estimate", {}).get(cell["topology"])
    usual = {**matrix.METHOD, **recipe["defaults"][cell["device"]]}
    if seconds is None or ("epochs" in cell) != ("epochs" in usual):
        return None
    return float(seconds * (_START_UP + (1 - _START_UP) * _length(cell) / _length(usual)))


def _length(method: Mapping[str, Any]) -> int:
    return int(method["epochs"] if "epochs" in method else method["warmup"] + method["iterations"])


def timing_key(cell: Mapping[str, Any]) -> str:
    """Return what the time of a repeat depends on: the cell and how many iterations it makes."""
    length = f"{cell['epochs']} epochs" if "epochs" in cell else cell.get("iterations")
    return f"{cell_path(cell)} {cell.get('warmup')}+{length}"
