"""Variants of a benchmark: environment, arguments or an image that one campaign compares in turns.

The name of a variant is the factor ``treatment`` of a cell, as the design of experiments calls what
is done to one unit of an experiment and not to another. Cells that differ in it alone are a block:
each round runs all of them, in random order (a randomised complete block design: Box, Hunter and
Hunter, "Statistics for Experimenters", 2nd edition, chapter 4). What drifts from one round to the
next then affects all of them alike, and the order within a round favours none.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ..records.cells import cell_path, task_values
from ..records.factors import MAX, NO_TREATMENT, TREATMENT, Factor
from ..records.plans import Cell
from ..records.results import MeasuredCell
from ..stats.bisection import FIRST_LOOK, MOST_ROUNDS
from .placeholders import check_placeholders

__all__ = [
    "block_of",
    "check_in_turns",
    "check_variants",
    "in_turns",
    "is_treated",
    "treated",
    "with_variants",
]

Benchmark = Mapping[str, Any]
AnyCell = Union[Cell, MeasuredCell]
# What a variant may have; ``about`` is the user's label of what differs: code, driver, stack.
_KEYS: Mapping[str, type] = {"about": str, "environment": dict, "arguments": list, "image": str}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.]{0,31}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_IMAGE = re.compile(r"[\w][\w./:-]*(@sha256:[0-9a-f]{64})?", re.ASCII)


def check_variants(
    given: Any, where: str, factors: Sequence[Factor], recipes: Sequence[str] = ()
) -> Dict[str, Dict[str, Any]]:
    """Return variants by name, in their order, the first of which the others are compared with.

    :param given: what the YAML file holds: by name a mapping of :data:`_KEYS`, perhaps empty.
    :param where: file and key, for the message.
    :param factors: of the benchmark; in the path of a log a name must not be one of their values.
    :param recipes: names that it must not have either, for the same reason.
    :raises ValueError: the place, and what should stand there.
    """
    if not isinstance(given, Mapping) or len(given) < 2:
        raise ValueError(
            f"{where}: a mapping of two variants or more is needed, the one first that the others"
            f" are compared with, not {given!r:.80}"
        )
    checked = {}
    for name, changes in given.items():
        _check_name(name, where, factors, recipes)
        place = f"{where}.{name}"
        # A variant without changes may be written without braces.
        made = {} if changes is None else changes
        if not isinstance(made, Mapping):
            raise ValueError(f"{place}: a mapping is needed, not {made!r:.80}")
        _check_changes(made, place, [factor.name for factor in factors])
        checked[name] = dict(made)
    return checked


def _check_name(name: Any, where: str, factors: Sequence[Factor], recipes: Sequence[str]) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"{where}: {name!r:.80} is not a name for a variant: a text of at most 32 letters,"
            " digits, _ and ., as part of a path; quote a number"
        )
    taken = {factor.name: factor for factor in factors if _can_be_value(factor, name)}
    if name == NO_TREATMENT or taken or name in recipes:
        what = f"a value of {next(iter(taken))}" if taken else "something else"
        raise ValueError(f"{where}: {name} is {what} in the path of a log: choose another name")


def _can_be_value(factor: Factor, name: str) -> bool:
    return name in (factor.token, *factor.values) or bool(re.fullmatch(factor.pattern, name))


def _check_changes(changes: Mapping[str, Any], place: str, names: Sequence[str]) -> None:
    for key, value in changes.items():
        if key not in _KEYS:
            raise ValueError(
                f"{place}.{key!s:.80}: no such key; there are {', '.join(sorted(_KEYS))}"
            )
        if not isinstance(value, _KEYS[key]):
            raise ValueError(f"{place}.{key}: a {_KEYS[key].__name__} is needed, not {value!r:.80}")
    environment = changes.get("environment", {})
    for variable in environment:
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            raise ValueError(f"{place}.environment: {variable!r:.80} is not the name of a variable")
        if variable.startswith("SCALEBENCH_"):
            raise ValueError(f"{place}.environment: {variable} is set by Scalebench itself")
    check_placeholders(environment.values(), f"{place}.environment", names)
    check_placeholders(changes.get("arguments", []), f"{place}.arguments", names)
    if "image" in changes and not _IMAGE.fullmatch(changes["image"]):
        raise ValueError(f"{place}.image: {changes['image']!r:.80} is not the name of an image")


def _check_bisect(cells: Sequence[Cell], options: Mapping[str, Any]) -> None:
    blocks = {block_of(cell) for cell in cells}
    variants = {cell["treatment"] for cell in cells} - {NO_TREATMENT}
    if len(blocks) != 1 or len(cells) < 2:
        raise ValueError(
            f"-e bisect=true: it looks for the first slow one of the variants of one cell, and"
            f" there are {len(variants)} variant(s) of {len(blocks)} cell(s): give -e variants="
            " with the versions in order, the good one first, and one value of every other factor"
            " and topology"
        )
    if "duration" in options:
        raise ValueError(
            f"-e duration={options['duration']} and -e bisect=true: give one of them, each decides"
            " when the repeats end"
        )
    if options.get("repeats", FIRST_LOOK) < FIRST_LOOK:
        raise ValueError(
            f"-e repeats={options['repeats']}: with -e bisect=true it is the number of rounds of a"
            f" step at most, from {FIRST_LOOK} up; without, {MOST_ROUNDS}"
        )


def with_variants(benchmark: Benchmark, variants: Mapping[str, Mapping[str, Any]]) -> Benchmark:
    """Return a benchmark whose recipes know the variants.

    Their names are choices of factor ``treatment``; what they add to the command are additions on
    the condition of that treatment, after those of the recipe; images stand in ``images``.

    :param benchmark: a checked definition without variants.
    :param variants: what :func:`check_variants` returned.
    """
    additions = [
        {"when": {TREATMENT: name}, **{key: changes[key] for key in changes if key in _COMMAND}}
        for name, changes in variants.items()
    ]
    images = {name: changes["image"] for name, changes in variants.items() if "image" in changes}
    recipes = {
        name: {
            **recipe,
            "choices": {**recipe["choices"], TREATMENT: list(variants)},
            "additions": [*recipe.get("additions", []), *additions],
            "images": images,
        }
        for name, recipe in benchmark["recipes"].items()
    }
    return {**benchmark, "variants": dict(variants), "recipes": recipes}


_COMMAND = ("environment", "arguments")


def treated(recipe: Mapping[str, Any], treatment: Optional[str]) -> Dict[str, Any]:
    """Return a recipe whose container has the image of a variant, where that has one of its own.

    :raises ValueError: it has one, and the recipe runs in no container.
    """
    image = recipe.get("images", {}).get(treatment)
    if image is None:
        return dict(recipe)
    if recipe.get("container") is None:
        raise ValueError(
            f"variant {treatment} has an image, and the recipe runs in no container here: give it"
            " environment or arguments instead, or run a recipe with a container on GPUs"
        )
    kept = {key: value for key, value in recipe["container"].items() if key != "digest"}
    return {**recipe, "container": {**kept, "image": image, "variant": treatment}}


def is_treated(cell: AnyCell) -> bool:
    """Return whether a cell, planned or measured, is of a variant."""
    return cell.get(TREATMENT) not in (None, NO_TREATMENT)


def block_of(cell: AnyCell) -> Tuple[str, ...]:
    """Return what cells have in common that differ in their treatment alone."""
    values = {**task_values(cell), TREATMENT: None}
    return tuple(f"{name}={value}" for name, value in values.items())


def in_turns(cells: Sequence[Cell], seed: str, number: int) -> List[Cell]:
    """Return the cells of one round: blocks in the given order, each in a random order of its own.

    Sorted by the SHA-256 of seed, round and cell: every order equally likely, the same on every
    machine and in every Python.

    :param seed: of the campaign.
    :param number: of the round, from 1.
    """
    if not any(is_treated(cell) for cell in cells):
        return list(cells)
    blocks: Dict[Tuple[str, ...], List[Cell]] = {}
    for cell in cells:
        key = block_of(cell) if is_treated(cell) else (cell_path(cell),)
        blocks.setdefault(key, []).append(cell)

    def place(cell: Cell) -> bytes:
        return hashlib.sha256(f"{seed}:{number}:{cell_path(cell)}".encode()).digest()

    return [cell for block in blocks.values() for cell in sorted(block, key=place)]


def check_in_turns(cells: Sequence[Cell], options: Mapping[str, Any]) -> None:
    """Refuse options with which variants would not be measured in turns under equal conditions.

    :raises ValueError: the option, why it does not go, and what to do.
    """
    if options.get("bisect"):
        _check_bisect(cells, options)
    if not any(is_treated(cell) for cell in cells):
        return
    if options.get("packing", "none") != "none":
        raise ValueError(
            f"-e packing={options['packing']}: variants are measured in turns, and packed repeats"
            " run at once: leave packing out"
        )
    if "half_width" in options:
        raise ValueError(
            f"-e half_width={options['half_width']}: it adds repeats to single cells, and variants"
            " are compared by rounds of all of them: give -e repeats="
        )
    if any(cell["batch_size_per_device"] == MAX for cell in cells):
        raise ValueError(
            f"-e batch_size_per_device={MAX}: each variant would get a batch size of its own: give"
            " a number"
        )
