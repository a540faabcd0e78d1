"""The schema of a file in ``benchmarks/``: what it must say, checked before anything uses it."""

from __future__ import annotations

import string
from typing import Any, Dict, List, Mapping

from .launch import LAUNCHERS, PLACEHOLDERS
from .options import LISTS, parse_options

__all__ = ["check_benchmark"]

CHOICES = ("precision", "data", "data_backend", "xla")
_DEVICES = ("cpu", "gpu")
_REQUIRED = {
    "framework": str,
    "launcher": str,
    "workload": str,
    "choices": dict,
    "defaults": dict,
    "arguments": list,
}
_OPTIONAL = {"extra_arguments": dict, "environment": dict, "estimate": dict}


def check_benchmark(definition: Any, name: str) -> Dict[str, Any]:
    """Return the definition of one benchmark if every part of it can be used.

    :param definition: what the YAML file holds.
    :param name: the file's name, for the message.
    :raises ValueError: the file, the key and what should stand there.
    """
    _mapping(definition, name, {"benchmark": str, "model": str, "recipes": dict}, {})
    if not definition["recipes"]:
        raise ValueError(f"{name}: recipes: at least one recipe is needed")
    for recipe_name, recipe in definition["recipes"].items():
        _check_recipe(recipe, f"{name}: recipes.{recipe_name}")
    return dict(definition)


def _check_recipe(recipe: Any, where: str) -> None:
    _mapping(recipe, where, _REQUIRED, _OPTIONAL)
    if recipe["launcher"] not in LAUNCHERS:
        known = ", ".join(sorted(LAUNCHERS))
        raise ValueError(f"{where}.launcher: {recipe['launcher']!r} is none of {known}")
    _mapping(recipe["choices"], f"{where}.choices", dict.fromkeys(CHOICES, list), {})
    _mapping(recipe["defaults"], f"{where}.defaults", {}, dict.fromkeys(_DEVICES, dict))
    for device, defaults in recipe["defaults"].items():
        place = f"{where}.defaults.{device}"
        unknown = set(defaults) - set(LISTS) - {"repeats", "warmup", "iterations"}
        if unknown:
            raise ValueError(f"{place}: {', '.join(sorted(unknown))}: no such option")
        parse_options(defaults, place)
        for needed in ("precision", "batch_size_per_device", "image_size", "topology"):
            if needed not in defaults:
                raise ValueError(f"{place}.{needed} is missing")
    arguments: List[Any] = list(recipe["arguments"])
    for values in recipe.get("extra_arguments", {}).values():
        for extra in values.values():
            arguments += extra
    for argument in arguments:
        _check_placeholders(argument, where)


def _check_placeholders(argument: Any, where: str) -> None:
    if not isinstance(argument, str):
        raise ValueError(f"{where}.arguments: {argument!r} is not a text: quote it")
    for _, field, _, _ in string.Formatter().parse(argument):
        if field is not None and field not in PLACEHOLDERS:
            known = ", ".join(sorted(PLACEHOLDERS))
            raise ValueError(f"{where}.arguments: {argument!r}: {{{field}}} is none of {known}")


def _mapping(
    value: Any, where: str, required: Mapping[str, type], optional: Mapping[str, type]
) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: a mapping is needed, not {type(value).__name__}")
    for key, kind in required.items():
        if key not in value:
            raise ValueError(f"{where}.{key} is missing")
        if not isinstance(value[key], kind):
            raise ValueError(f"{where}.{key}: a {kind.__name__} is needed, not {value[key]!r}")
    for key in value:
        if key not in required and key not in optional:
            known = ", ".join(sorted({*required, *optional}))
            raise ValueError(f"{where}.{key}: no such key; there are {known}")
        if key in optional and not isinstance(value[key], optional[key]):
            wanted = optional[key].__name__
            raise ValueError(f"{where}.{key}: a {wanted} is needed, not {value[key]!r}")
